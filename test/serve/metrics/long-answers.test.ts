import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { dailySummary } from '../../../aggregate/metrics/activity/daily-summary.ts';
import { sql } from '../../../infra/sql.ts';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testConfig } from '../../support/test-config.ts';

const ROWS = 12_000;
const ALL = '/api/daily-summary?start_date=2023-01-01&end_date=2099-12-31';
const PATIENT = { timeout: 60_000 };
/** Nothing is cached, so that an answer is shared only while it is sent. */
const SETTINGS = {
  CACHE_BYTES: '0',
  ANONYMOUS_STORE_SECONDS: '0',
  EVENT_LOOP_DELAY_MS_MAX: '0',
  LOG_LEVEL: 'silent',
};

const directory = temporaryDirectory();
let pipeline: Pipeline;
let app: FastifyInstance;
const sockets: Socket[] = [];

beforeAll(async () => {
  pipeline = await openPipeline(testConfig({ ...SETTINGS, DATA_DIR: directory.path }));
  await pipeline.runtime.store.run(
    sql`INSERT INTO ${dailySummary.table} (relay_chain, chain, date)
      SELECT 'polkadot', concat('chain-', toString(number % 12)), toDate('2023-01-01') + intDiv(number, 12) FROM numbers(${ROWS})`,
  );
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});
afterAll(async () => {
  await pipeline.close();
  directory[Symbol.dispose]();
});

async function serve(settings: Record<string, string> = {}): Promise<void> {
  const config = testConfig({ ...SETTINGS, ...settings, DATA_DIR: directory.path });
  app = await buildServer({ ...pipeline, config });
  await app.listen({ host: '127.0.0.1', port: 0 });
}

/** Asks for an answer and takes nothing of it but its first bytes. */
async function stall(path: string): Promise<void> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`);
  await once(socket, 'readable');
}

describe('a long answer', () => {
  it('goes on by its Link where its rows are cut, in every form', async () => {
    await serve({ SERIES_ROWS_MAX: '5000' });
    const ask = (url: string) => app.inject(url);
    const rows: { date: string; chain: string }[] = [];
    let pages = 0;
    for (let url: string | undefined = ALL; url !== undefined; pages++) {
      const answer = await ask(url);
      const csv = await ask(`${url}&format=csv`);
      url = /<([^>]+)>; rel="next"/.exec(String(answer.headers.link ?? ''))?.[1];
      expect(answer.headers['x-truncated']).toBe(url === undefined ? 'false' : 'true');
      expect(csv.headers['x-truncated']).toBe(answer.headers['x-truncated']);
      expect(csv.body.trim().split('\n')).toHaveLength(answer.json<unknown[]>().length + 1);
      rows.push(...answer.json<typeof rows>());
    }
    expect(pages).toBe(3);
    expect(new Set(rows.map(({ date, chain }) => `${date} ${chain}`)).size).toBe(ROWS);
  });

  it('is in memory once, however many readers take it slowly', async () => {
    await serve();
    const { length } = (await app.inject(ALL)).rawPayload;
    const before = process.memoryUsage().arrayBuffers;
    await stall(ALL);
    for (let i = 0; i < 30; i++) await stall(ALL);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * length);
  });

  it('is 503 while readers hold all memory for long answers, and a short one is served', async () => {
    await serve({ ANSWER_BYTES_MAX: String(10 * 2 ** 20) });
    await stall(ALL);
    const another = `${ALL}&relay_chain=polkadot`;
    const refused = await app.inject(another);
    expect(refused.statusCode).toBe(503);
    expect(refused.headers['retry-after']).toBe('5');
    expect((await app.inject(`${ALL}&limit=10`)).statusCode).toBe(200);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(async () => (await app.inject(another)).statusCode, PATIENT).toBe(200);
  });
});
