import { expect, it } from 'vitest';
import { TableWriters } from '../../../aggregate/runner/table-writers.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';

function opened() {
  let last = 0n;
  const keyValue = new EmbeddedKeyValue({ now: () => 0 });
  const numbers = { take: () => ++last };
  return { keyValue, numbers, writers: new TableWriters({ keyValue, numbers, leaseMs: 60_000 }) };
}

it('rows count as visible up to the version before that of the first who still writes them', async () => {
  const { numbers, writers } = opened();
  expect(await writers.visibleUpTo(numbers.take(), ['steps', 'others'])).toBe(1n);
  await writers.run('steps', async () => {
    const version = numbers.take();
    const upTo = await writers.visibleUpTo(numbers.take(), ['steps', 'others']);
    expect(upTo).toBeLessThan(version);
    expect(await writers.visibleUpTo(numbers.take(), ['others'])).toBeGreaterThan(version);
  });
  const after = numbers.take();
  expect(await writers.visibleUpTo(after, ['steps'])).toBe(after);
});

it('who was taken for ended while it wrote writes again', async () => {
  const { keyValue, writers } = opened();
  const runs: boolean[] = [];
  await writers.run('steps', async (isRepeated) => {
    runs.push(isRepeated);
    if (!isRepeated) await keyValue.delete('writers/steps');
  });
  expect(runs).toEqual([false, true]);
});

it('who fails writes no longer', async () => {
  const { numbers, writers } = opened();
  await expect(writers.run('steps', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const after = numbers.take();
  expect(await writers.visibleUpTo(after, ['steps'])).toBe(after);
});
