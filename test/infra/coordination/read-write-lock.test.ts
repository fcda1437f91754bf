import { expect, it, vi } from 'vitest';
import { ReadWriteLock } from '../../../infra/coordination/read-write-lock.ts';

it('what wants to be alone waits for those that pass, and they wait for it', async () => {
  const gate = new ReadWriteLock();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const alone = Promise.withResolvers<void>();
  const works = [
    gate.runShared(async () => {
      await first.promise;
      done.push('first');
    }),
    gate.runShared(async () => void done.push('beside')),
    gate.runExclusive(async () => {
      done.push('alone begins');
      await alone.promise;
      done.push('alone ends');
    }),
    gate.runShared(async () => void done.push('later')),
    gate.runExclusive(async () => void done.push('alone again')),
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
  const gate = new ReadWriteLock();
  await expect(gate.runExclusive(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await gate.runShared(async () => 1)).toBe(1);
});

it('gives up being alone where others do not end in time, and lets the next ones pass', async () => {
  const gate = new ReadWriteLock();
  const end = Promise.withResolvers<void>();
  const long = gate.runShared(() => end.promise);
  const work = vi.fn(async () => undefined);
  const alone = gate.runExclusive(work, 50);
  const later = gate.runShared(async () => 'passed');
  await expect(alone).rejects.toMatchObject({
    code: 'store_busy',
    message: '1 statement that writes did not end within 0.05 s; try again later',
  });
  expect(await later).toBe('passed');
  end.resolve();
  await long;
  expect(work).not.toHaveBeenCalled();
  expect(await gate.runExclusive(async () => 'alone', 50)).toBe('alone');
});
