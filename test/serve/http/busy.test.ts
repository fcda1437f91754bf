import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createApp } from '../../../serve/http/app.ts';
import { readConfig } from '../../../serve/settings.ts';

/** Takes the event loop as a long computation does, without the computation. */
async function block(): Promise<void> {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2100);
  await pause(1);
}

test('a start that took the event loop is no load; what takes it later is, and is told with Retry-After', async () => {
  const app = await createApp(readConfig({ LOG_LEVEL: 'silent' }), (request) => request.url ?? '/');
  await block();
  expect(app.isUnderPressure()).toBe(true);
  expect((await app.inject('/')).statusCode).toBe(404);
  for (let i = 0; i < 3 || !app.isUnderPressure(); i++) await block();
  const { statusCode, headers } = await app.inject('/');
  expect([statusCode, headers['retry-after']]).toEqual([503, '5']);
  await app.close();
});
