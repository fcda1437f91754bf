import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Hourly } from '../../../infra/coordination/hourly.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HOUR_MS = 3_600_000;

it('looks a minute after the start and then every hour, also after a failure, until it is stopped', async () => {
  let looks = 0;
  const failures: unknown[] = [];
  const hourly = new Hourly(
    async () => {
      if (++looks === 1) throw new Error('not yet');
    },
    (error) => failures.push(error),
  );
  hourly.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([looks, failures]).toEqual([1, [new Error('not yet')]]);
  await vi.advanceTimersByTimeAsync(2 * HOUR_MS);
  expect([looks, failures.length]).toEqual([3, 1]);
  hourly.stop();
  await vi.advanceTimersByTimeAsync(2 * HOUR_MS);
  expect(looks).toBe(3);
});

it('tells of no failure of a look that a stop breaks off', async () => {
  const { promise, reject } = Promise.withResolvers<void>();
  const failures: unknown[] = [];
  const hourly = new Hourly(
    () => promise,
    (error) => failures.push(error),
  );
  hourly.start();
  await vi.advanceTimersByTimeAsync(60_000);
  hourly.stop();
  reject(new Error('the store is closed'));
  await vi.advanceTimersByTimeAsync(1);
  expect(failures).toEqual([]);
});

it('begins no look while one lasts', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let looks = 0;
  const hourly = new Hourly(
    () => {
      looks++;
      return promise;
    },
    (error) => expect.unreachable(String(error)),
  );
  hourly.start();
  await vi.advanceTimersByTimeAsync(3 * HOUR_MS);
  expect(looks).toBe(1);
  resolve();
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(looks).toBe(2);
  hourly.stop();
});
