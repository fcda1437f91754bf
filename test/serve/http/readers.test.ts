import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import type { Store } from '../../../infra/ports.ts';
import { createReadinessCheck } from '../../../infra/runtime/readiness.ts';
import { sql } from '../../../infra/sql.ts';
import { createApp } from '../../../serve/http/app.ts';
import { serveHealth } from '../../../serve/http/health.ts';
import { openLimiters } from '../../../serve/http/limiter.ts';
import { ProcessHealth } from '../../../serve/http/process-health.ts';
import { Readers } from '../../../serve/http/readers.ts';
import { openStore } from '../../support/open-store.ts';
import { testConfig } from '../../support/test-config.ts';

const ENDLESS = sql`SELECT sum(sipHash64(number, 11)) AS s FROM numbers(1000000000000)`;
const RUNNING = sql`SELECT query FROM system.processes WHERE NOT is_cancelled AND query LIKE concat('%sipHash64(number', ', 11)%')`;

/** Cancelling takes long on a busy machine. */
const PATIENT = { timeout: 60_000 };

let opened: Awaited<ReturnType<typeof openStore>>;
let store: Store;
let app: FastifyInstance;
const sockets: Socket[] = [];
let now = Date.parse('2026-03-01T12:00:10Z');

beforeAll(async () => {
  opened = await openStore();
  store = opened.store;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});
afterAll(() => opened.close());

async function serve(env: Record<string, string>): Promise<void> {
  const settings = testConfig({ LOG_LEVEL: 'silent', TRUST_PROXY: '1', ...env });
  const clock = { now: () => now };
  const keyValue = new EmbeddedKeyValue(clock);
  const authenticate = async ({ headers }: FastifyRequest) => String(headers.proves ?? '') || null;
  const readers = new Readers({
    store,
    limiters: openLimiters({ keyValue, clock }, settings),
    settings,
    authenticate,
  });
  app = await createApp(settings, ({ url }) => url ?? '/');
  app.addHook('onRequest', async (request) => {
    const { account } = request.headers;
    if (typeof account === 'string') request.knownAccount = account;
  });
  const log = { check: async () => undefined } as never;
  const health = new ProcessHealth(
    createReadinessCheck({ store, keyValue, log }, settings, new Set(['store', 'keyValue', 'log'])),
    () => false,
  );
  health.markStarted();
  await serveHealth(app, health);
  app.get('/endless', async (request, reply) => (await readers.open(request, reply)).store().rows(ENDLESS));
  app.get('/long', async (request, reply) =>
    (await readers.open(request, reply)).store().rows(sql`SELECT sleep(1.1) AS zero`),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
}

const get = (url: string, address: string, headers = {}) =>
  app.inject({ url, headers: { 'x-forwarded-for': address, ...headers } });

async function ask(path: string, address: string): Promise<Socket> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: test\r\nx-forwarded-for: ${address}\r\n\r\n`);
  await once(socket, 'connect');
  return socket;
}

describe('readers', () => {
  it('who hang up leave nothing behind, and probes and other readers do not wait for them', async () => {
    await serve({ READER_CONNECTIONS: '2', READER_WAIT_SECONDS_MAX: '60' });
    for (let i = 0; i < 20; i++) await ask('/endless', '192.0.2.1');
    await expect.poll(() => store.rows(RUNNING), PATIENT).toHaveLength(1);
    expect((await get('/health/ready', '192.0.2.2')).statusCode).toBe(200);
    expect((await get('/long', '192.0.2.2')).json()).toEqual([{ zero: 0 }]);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(() => store.rows(RUNNING), PATIENT).toHaveLength(0);
    expect((await get('/long', '192.0.2.1')).statusCode).toBe(200);
  });

  it('get 503 with Retry-After when too many wait, when they wait too long, and when a query takes too long', async () => {
    await serve({ READER_CONNECTIONS: '2', READERS_WAITING_MAX: '4', READER_WAIT_SECONDS_MAX: '1' });
    await ask('/endless', '192.0.2.1');
    await expect.poll(() => store.rows(RUNNING), PATIENT).toHaveLength(1);
    const both = await Promise.all([get('/endless', '192.0.2.1'), get('/endless', '192.0.2.1')]);
    for (const { statusCode, headers, body } of both) {
      expect(statusCode).toBe(503);
      expect(headers['retry-after']).toBe('5');
      expect(JSON.parse(body)).toMatchObject({ status: 503, title: 'Service Unavailable' });
    }
  });

  it('spend a budget of the time of the store, by address or account', async () => {
    await serve({ ANONYMOUS_STORE_SECONDS: '1', KEY_STORE_SECONDS: '1' });
    const status = async (address: string, headers = {}) => (await get('/long', address, headers)).statusCode;
    expect(await status('192.0.2.1')).toBe(200);
    const refused = await get('/long', '192.0.2.1');
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['retry-after']).toBe('50');
    expect(await status('192.0.2.2')).toBe(200);
    expect(await status('192.0.2.1', { account: '7' })).toBe(200);
    expect(await status('192.0.2.3', { account: '7' })).toBe(429);
    expect(await status('192.0.2.1', { account: '8' })).toBe(200);
    // Who is known is asked only where the address has spent its budget.
    expect(await status('192.0.2.1', { proves: '9' })).toBe(200);
    expect(await status('192.0.2.1', { proves: '9' })).toBe(429);
    expect(await status('192.0.2.4', { proves: '9' })).toBe(200);
    now += 60_000;
    expect(await status('192.0.2.1')).toBe(200);
  });
});

describe('readiness', () => {
  it('ends before the disk of the store is full', async () => {
    await serve({ DISK_FREE_BYTES_MIN: '1' });
    expect((await get('/health/ready', '192.0.2.1')).statusCode).toBe(200);
    await app.close();
    await serve({ DISK_FREE_BYTES_MIN: String(2 ** 50) });
    expect((await get('/health/ready', '192.0.2.1')).statusCode).toBe(503);
  });
});
