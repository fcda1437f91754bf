import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS, isoDay } from '../../infra/days.ts';
import { DemoHistory, firstDemoDay } from '../../ingest/demo/history.ts';
import { readDemoMark, writeDemoMark } from '../../ingest/demo/mark.ts';
import { prepareDemo } from '../../serve/application/cli/first-data.ts';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { LocalClient } from '../../serve/application/operations/client.ts';
import { folderOf } from '../support/fixtures.ts';
import { clockFrom, emptyPipeline, openTestPipeline, type TestPipeline } from '../support/pipeline.ts';
import { ENDPOINTS } from './metrics/endpoints.ts';

/** The days of the history from here on: cheap, and with a missing day, one without prices, and a sale of cores. */
const FIRST_TESTED = 163;
const NOW = Date.parse('2026-11-10T15:00:00Z');
const first = firstDemoDay(NOW);
const dayAt = (index: number) => isoDay(Date.parse(first) + index * DAY_MS);

let test: TestPipeline;
let app: FastifyInstance;
let whileLoading = '';
const before: { demo: unknown; page: string; headers: object }[] = [];

const get = async (url: string) => app.inject({ url });
const rows = async (url: string) => (await get(url)).json<Record<string, unknown>[]>();

beforeAll(async () => {
  test = await openTestPipeline(clockFrom('2026-11-10T15:00:00Z'));
  const { pipeline } = test;
  const price = {
    ...{ schema: 'snapshot/1', kind: 'price', relay_chain: 'polkadot', chain: 'polkadot' },
    ...{ as_of: '2026-03-20T23:59:54.000Z', payload: { symbol: 'DOT', usd: 6 } },
  };
  await pipeline.ingest(Readable.from([Buffer.from(JSON.stringify(price))]), { name: 'measured.ndjson' });
  await pipeline.waitUntilLoaded();
  const measured = await buildServer(pipeline);
  const page = await measured.inject('/');
  before.push({
    demo: (await measured.inject('/api/status')).json().demo_data,
    page: page.body,
    headers: page.headers,
  });
  await measured.close();
  const told: string[] = [];
  expect(await prepareDemo(pipeline, (text) => told.push(text))).toBeNull();
  expect(told.join()).toMatch(/contains your own data, so no demo data were loaded.*an empty directory/);
  expect(await readDemoMark(pipeline.runtime.store)).toBeNull();
  await emptyPipeline(pipeline);

  const sample = new URL('asset-hub-westend.ndjson.gz', folderOf('blocks'));
  await pipeline.ingest(createReadStream(sample), { name: 'asset-hub-westend.ndjson.gz' });
  await pipeline.waitUntilLoaded();
  await prepareDemo(pipeline, () => undefined);
  app = await buildServer(pipeline);
  const history = new DemoHistory({ firstDay: first, now: NOW, registry: pipeline.registry });
  const lines = [...history.days(dayAt(FIRST_TESTED))].flat();
  await pipeline.aggregator.pauseComputation(async () => {
    await pipeline.ingest(Readable.from([Buffer.from(lines.join('\n'))]), { name: 'demo.ndjson' });
    await pipeline.waitUntilLoaded();
    whileLoading = (await get('/')).body;
  });
  await pipeline.aggregator.waitUntilComputed();
}, 300_000);
afterAll(async () => {
  await app?.close();
  await test?.close();
});

describe('demo data', () => {
  it('are never made or told of in a store of other data', () => {
    expect(before[0]).toMatchObject({ demo: false });
    expect(before[0]?.page).not.toContain('made up');
    expect(before[0]?.headers).not.toHaveProperty('x-demo-data');
  });

  it('give rows on every path, and nothing of them is refused', async () => {
    const dates = `start_date=${first}&end_date=${isoDay(NOW)}`;
    const [region] = await rows('/api/coretime-regions');
    const contracts = await rows('/api/contracts-with-code');
    const addresses = contracts.map(({ contract_address }) => `addresses=${contract_address}`).join('&');
    const needed: Record<string, string> = {
      '/api/contracts-search': addresses,
      '/api/contract-transactions-search': addresses,
      '/api/code-by-owner': `addresses=${contracts[0]?.owner}`,
      '/api/coretime-region-history': `region_begin=${region?.region_begin}&r_core=${region?.r_core}`,
    };
    expect(ENDPOINTS.length).toBe(38);
    const empty: string[] = [];
    for (const { path, parameters } of ENDPOINTS) {
      const query = needed[path] ?? (parameters.start_date?.required ? dates : '');
      const answer = await get(`${path}?${query}`);
      expect(answer.statusCode, `${path} ${answer.body.slice(0, 200)}`).toBe(200);
      expect(answer.headers['x-demo-data'], path).toBe('true');
      if (answer.json<unknown[]>().length === 0) empty.push(path);
    }
    expect(empty).toEqual([]);
    expect((await get('/api/status')).json()).toMatchObject({
      ...{ demo_data: true, refused_facts: 0, dead_letters: { total: 0 } },
      computing: { failed: [] },
    });
  });

  it('leave out a day, which coverage tells, and the prices of another, whose dollars are unknown', async () => {
    const coverage = await rows('/api/coverage?chain=polkadot');
    const [missing, unpriced] = [dayAt(165), dayAt(170)];
    expect(coverage).toMatchObject([
      {
        missing_days: { total: 1, ranges: [{ from: missing, to: missing }] },
        days_without_price: { ranges: [{ from: unpriced, to: unpriced }] },
      },
    ]);
    const fees = await rows(`/api/daily-fees?chain=polkadot&start_date=${dayAt(164)}`);
    const dollars = new Map(fees.map((row) => [row.date, row.total_fees_usd]));
    expect(dollars.has(missing)).toBe(false);
    expect(dollars.get(unpriced)).toBeNull();
    expect(dollars.get(dayAt(169))).toEqual(expect.any(Number));
    expect(fees.at(-1)?.date).toBe(isoDay(NOW));
    const uptime = await rows(`/api/daily-uptime?chain=asset-hub-kusama&start_date=${dayAt(172)}`);
    expect(uptime[0]).toMatchObject({ date: dayAt(172), uptime_1day: 0, blocks_1day: 0 });
    expect(Number(uptime.at(-1)?.uptime_1day)).toBeGreaterThan(0.8);
  });

  it('are told by every answer, of errors too, on pages that show them, and to other origins', async () => {
    expect(whileLoading).toContain('stand for each day. They are being loaded');
    expect((await get('/')).body).not.toContain('being loaded');
    for (const path of ['/', '/sign-in', '/nowhere']) {
      const page = await app.inject({ url: path, headers: { accept: 'text/html' } });
      expect(page.headers['x-demo-data'], path).toBe('true');
      // Alerts and accounts are not made up.
      expect(page.body.includes('Demo data: made up, not measured.'), path).toBe(path === '/');
    }
    expect((await get('/openapi.json')).json().info.description).toContain('made up, not measured');
    const api = await app.inject({ url: '/api/status', headers: { origin: 'https://elsewhere.example' } });
    expect(api.headers['access-control-expose-headers']).toContain('X-Demo-Data');
  });

  it('are continued by a later start, which leaves the days before as they are', async () => {
    const { pipeline } = test;
    const { store } = pipeline.runtime;
    const ended = `start_date=${dayAt(FIRST_TESTED)}&end_date=${dayAt(178)}`;
    const [tps, fees] = [await rows(`/api/daily-tps?${ended}`), await rows(`/api/daily-fees?${ended}`)];
    await writeDemoMark(store, { first_day: first, loaded_until: new Date(NOW - DAY_MS).toISOString() });
    const load = await prepareDemo(pipeline, () => undefined);
    const said: string[] = [];
    await load?.(new LocalClient(pipeline), (text) => said.push(text), new AbortController().signal).ready;
    expect(said.join()).toMatch(`from ${dayAt(178)} until now`);
    expect(await rows(`/api/daily-tps?${ended}`)).toEqual(tps);
    expect(await rows(`/api/daily-fees?${ended}`)).toEqual(fees);
    const [today] = await rows(`/api/daily-tps?chain=polkadot&start_date=${isoDay(NOW)}`);
    expect(today).toMatchObject({ date: isoDay(NOW), num_blocks: 16 });
    expect(isoDay(Date.parse((await readDemoMark(store))?.loaded_until ?? ''))).toBe(isoDay(NOW));
  });
});
