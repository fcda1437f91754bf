import { expect, it } from 'vitest';
import { Claims } from '../../../aggregate/runner/claims.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';

const window = (metric: string, day = 1) => ({
  metric,
  level: 0,
  relays: ['polkadot'],
  from: `2026-03-0${day}`,
  until: `2026-03-0${day + 1}`,
});

function opened() {
  let now = 0;
  let last = 0n;
  const clock = { now: () => now };
  const keyValue = new EmbeddedKeyValue(clock, clock);
  const numbers = { take: () => ++last };
  const claims = new Claims({ keyValue, numbers, leaseMs: 60_000 });
  return { numbers, keyValue, claims, pass: (ms: number) => (now += ms) };
}

it('rows are visible up to a version below those that are still computed', async () => {
  const { numbers, claims } = opened();
  expect(await claims.visibleUpTo(numbers.take(), ['steps', 'others'])).toBe(1n);
  await claims.run(window('steps'), async () => {
    const version = numbers.take();
    expect(await claims.visibleUpTo(numbers.take(), ['steps', 'others'])).toBeLessThan(version);
    expect(await claims.visibleUpTo(numbers.take(), ['others'])).toBeGreaterThan(version);
  });
  const after = numbers.take();
  expect(await claims.visibleUpTo(after, ['steps'])).toBe(after);
});

it('windows of a metric that overlap are computed one after the other, others side by side', async () => {
  const { claims } = opened();
  const running: string[] = [];
  let together = 0;
  const compute = (name: string) => async () => {
    running.push(name);
    await new Promise((resolve) => setTimeout(resolve, 20));
    together = Math.max(together, running.length);
    expect(running.filter((one) => one === name)).toHaveLength(1);
    running.splice(running.indexOf(name), 1);
  };
  await Promise.all([
    claims.run(window('steps', 1), compute('first')),
    claims.run(window('steps', 1), compute('first')),
    claims.run({ ...window('steps', 2), until: '2026-04-01' }, compute('second')),
    claims.run(window('steps', 4), compute('second')),
  ]);
  expect(together).toBe(2);
});

it('a window whose claim was lost is computed again, and may meet late rows', async () => {
  const { claims, pass } = opened();
  const met: boolean[] = [];
  const result = await claims.run(window('steps'), async (writesEqualRows) => {
    met.push(writesEqualRows);
    if (met.length === 1) pass(100_000);
    return met.length;
  });
  expect([result, met]).toEqual([2, [false, true]]);
});

it('who fails computes no longer, and the next one that covers its window writes all rows', async () => {
  const { numbers, claims } = opened();
  await expect(claims.run(window('steps'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const after = numbers.take();
  expect(await claims.visibleUpTo(after, ['steps'])).toBe(after);
  const writesAll = (of: ReturnType<typeof window>) =>
    claims.run(of, async (writesEqualRows) => writesEqualRows);
  expect(await writesAll(window('steps', 2))).toBe(false);
  const part = { ...window('steps'), from: '2026-03-01 05:00:00', until: '2026-03-01 06:00:00' };
  expect([await writesAll(part), await writesAll(part), await writesAll(window('steps'))]).toEqual([
    true,
    true,
    true,
  ]);
  expect(await writesAll(window('steps'))).toBe(false);
});

it('who cannot note that it computes claims nothing for long', async () => {
  const { keyValue, claims } = opened();
  const members = keyValue.members.bind(keyValue);
  keyValue.members = (group) =>
    group.startsWith('unfinished') ? Promise.reject(new Error('away')) : members(group);
  await expect(claims.run(window('steps'), async () => 1)).rejects.toThrow('away');
  keyValue.members = members;
  expect(await claims.run(window('steps'), async () => 2)).toBe(2);
});
