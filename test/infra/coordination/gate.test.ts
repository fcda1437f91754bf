import { expect, it } from 'vitest';
import { Gate } from '../../../infra/coordination/gate.ts';

it('what wants to be alone waits for those that pass, and they wait for it', async () => {
  const gate = new Gate();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const alone = Promise.withResolvers<void>();
  const works = [
    gate.pass(async () => {
      await first.promise;
      done.push('first');
    }),
    gate.pass(async () => void done.push('beside')),
    gate.alone(async () => {
      done.push('alone begins');
      await alone.promise;
      done.push('alone ends');
    }),
    gate.pass(async () => void done.push('later')),
    gate.alone(async () => void done.push('alone again')),
  ];
  await works[1];
  first.resolve();
  await works[0];
  alone.resolve();
  await Promise.all(works);
  expect(done.slice(0, 4)).toEqual(['beside', 'first', 'alone begins', 'alone ends']);
  expect(done.slice(4).sort()).toEqual(['alone again', 'later']);
});

it('is open again after a failure', async () => {
  const gate = new Gate();
  await expect(gate.alone(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await gate.pass(async () => 1)).toBe(1);
});
