import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../infra/clock.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { pause } from '../ports/opened.ts';

const DAY_MS = 86_400_000;

test.each([
  ['back', -DAY_MS],
  ['ahead', DAY_MS],
])('values live as long as they should when the clock is set %s', async (_, step) => {
  const keys = new EmbeddedKeyValue(systemClock);
  await keys.set('long', 'value', { ttlMs: DAY_MS / 2 });
  await keys.set('short', 'value', { ttlMs: 20 });
  expect(await keys.increment('count', 1, 20)).toBe(1);
  const now = Date.now() + step;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
  await pause(30);
  expect([await keys.get('long'), await keys.get('short')]).toEqual(['value', null]);
  expect(await keys.increment('count', 1, 20)).toBe(1);
  clock.mockRestore();
  await keys.close();
});
