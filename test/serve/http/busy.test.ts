import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Accounts } from '../../../serve/accounts/accounts.ts';
import { createApp } from '../../../serve/http/app.ts';
import { allowCors } from '../../../serve/http/cross-origin.ts';
import { allowCrossOrigin } from '../../../serve/identity/oauth/cors.ts';
import { servePages } from '../../../serve/pages/page.ts';
import { readConfig } from '../../../serve/settings/settings.ts';

/** Takes the event loop as a long computation does, without the computation. */
async function block(): Promise<void> {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2100);
  await pause(1);
}

test('a start that took the event loop is no load; what takes it later is, and is told with Retry-After', async () => {
  const app = await createApp(readConfig({ LOG_LEVEL: 'silent' }), (request) => request.url ?? '/');
  await servePages(app, {} as Accounts, async (pages) => {
    pages.get('/page', () => 'made of what is stored');
  });
  await app.register(async (api) => {
    await allowCors(api);
    api.get('/api/rows', () => []);
  });
  await app.register(async (oauth) => allowCrossOrigin(oauth));
  await block();
  expect(app.isUnderPressure()).toBe(true);
  expect((await app.inject('/')).statusCode).toBe(404);
  for (let i = 0; i < 3 || !app.isUnderPressure(); i++) await block();
  const { statusCode, headers } = await app.inject('/');
  expect([statusCode, headers['retry-after']]).toEqual([503, '5']);
  const page = await app.inject('/page');
  expect([page.statusCode, page.headers['retry-after']]).toEqual([503, '5']);
  expect(page.body).toMatch(
    /<html lang="en">[\s\S]*<title>The server is busy[\s\S]*Reload the page in a few seconds/,
  );
  // A page of another origin can read why, also where it asks first whether it may ask.
  const read = await app.inject('/api/rows');
  expect([read.statusCode, read.headers]).toMatchObject([503, { 'access-control-allow-origin': '*' }]);
  expect(read.headers['access-control-expose-headers']).toContain('Retry-After');
  for (const url of ['/api/rows', '/oauth/token']) {
    const origin = { origin: 'https://client.example', 'access-control-request-method': 'GET' };
    const preflight = await app.inject({ method: 'OPTIONS', url, headers: origin });
    expect(preflight.statusCode, url).toBeLessThan(300);
    expect(preflight.headers['access-control-allow-origin'], url).toBe('*');
  }
  await app.close();
});
