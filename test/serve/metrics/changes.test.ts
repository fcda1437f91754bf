import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dailyTps } from '../../../aggregate/metrics/activity/daily-tps.ts';
import { materializedMetrics } from '../../../aggregate/metrics/index.ts';
import { ALL_TIME } from '../../../aggregate/planner/plan.ts';
import { computedWindows, resetWatermark } from '../../../aggregate/runner/ledger.ts';
import { sql } from '../../../infra/sql.ts';
import { dirtyDays } from '../../../ingest/raw/tables.ts';
import type { Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { clockFrom, ingestAndCompute, openTestPipeline } from '../../support/pipeline.ts';
import { countStatements } from '../../support/statements.ts';
import { madeBlock } from './made-blocks.ts';

interface Page {
  readonly changes: readonly Record<string, unknown>[];
  readonly cursor: string;
  readonly has_more: boolean;
}

let pipeline: Pipeline;
let get: (url: string) => Promise<{ statusCode: number; body: never; etag: unknown }>;
let close: () => Promise<void>;
beforeAll(async () => {
  const opened = await openTestPipeline(clockFrom('2023-02-02T12:00:00Z'));
  ({ pipeline } = opened);
  const app = await buildServer(pipeline);
  get = async (url) => {
    const answer = await app.inject(url);
    return { statusCode: answer.statusCode, body: answer.json() as never, etag: answer.headers.etag };
  };
  close = async () => {
    await app.close();
    await opened.close();
  };
  await ingestAndCompute(pipeline, [block(100, '2023-01-10'), block(101, '2023-01-11')]);
});
afterAll(() => close());

const block = (number: number, day: string) => ({
  line: JSON.stringify(madeBlock(number, day)),
  chain: 'polkadot',
});
const list = async (query: string): Promise<Page> => (await get(`/api/changes?${query}`)).body;
const ofTps = ({ changes }: Page) => changes.map(({ value, rows }) => [value, rows]);
const newest = async () => (await list('since=2099-01-01')).cursor;
const TPS = 'metric=daily_tps&chain=polkadot';

describe('the list of changes', () => {
  test('names days and keys by their columns, with the run that changed them', async () => {
    const { changes, has_more } = await list(`${TPS}&limit=1`);
    expect(has_more).toBe(true);
    expect(changes).toEqual([
      {
        metric: 'daily_tps',
        paths: ['/api/daily-tps'],
        relay_chain: 'polkadot',
        chain: 'polkadot',
        column: 'date',
        value: '2023-01-10',
        rows: 1,
        changed_at: expect.stringMatching(/^2023-02-02T12:\d\d:\d\d\.\d{3}Z$/),
        run: expect.stringMatching(/^\d{18,20}$/),
      },
    ]);
  });

  test('goes on after its last page, whatever page size, and is empty at its end', async () => {
    const whole = await list('limit=10000');
    const paged: unknown[] = [];
    let page = await list('limit=3');
    for (paged.push(...page.changes); page.has_more; paged.push(...page.changes))
      page = await list(`limit=3&cursor=${page.cursor}`);
    expect(paged).toEqual(whole.changes);
    expect(await list(`cursor=${page.cursor}`)).toMatchObject({ changes: [], has_more: false });
    expect(ofTps(await list('since=2099-01-01'))).toEqual([]);
    expect(ofTps(await list(`${TPS}&since=2023-02-02T11:00:00%2B00:00`))).toHaveLength(2);
  });

  test('a computation that gives equal rows is no change', async () => {
    const cursor = await newest();
    await pipeline.aggregator.rebuild(materializedMetrics, ALL_TIME.from, ALL_TIME.until);
    expect(await list(`cursor=${cursor}`)).toMatchObject({ changes: [], has_more: false });
  });

  test('a replaced block names the day that it left and the day that it came to; rows come with `changed_since`', async () => {
    const cursor = await newest();
    const url = `/api/daily-tps?chain=polkadot&changed_since=${cursor}`;
    const before = await get(url);
    expect(before.body).toEqual([]);
    await ingestAndCompute(pipeline, [block(101, '2023-01-12')]);
    expect(ofTps(await list(`${TPS}&cursor=${cursor}`)).toSorted()).toEqual([
      ['2023-01-11', 0],
      ['2023-01-12', 1],
    ]);
    const after = await get(url);
    expect(after.body).toMatchObject([{ date: '2023-01-12' }]);
    expect(after.etag).not.toBe(before.etag);
    expect((await get(url)).etag).toBe(after.etag);
    expect((await get(`/api/daily-tps?chain=polkadot&changed_since=${await newest()}`)).body).toEqual([]);
    const whole = await get('/api/daily-tps?chain=polkadot');
    expect((await get('/api/daily-tps?chain=polkadot&changed_since=2023-02-02')).body).toEqual(whole.body);
  });

  test('a block that is stored already is no change, and no work; one that replaced it is, and so is a return to it', async () => {
    const { store } = pipeline.runtime;
    const written = () =>
      store.rows(sql`SELECT (SELECT count() FROM ${computedWindows}) AS windows,
        (SELECT count() FROM ${dirtyDays}) AS days`);
    const cursor = await newest();
    const before = await written();
    const statements: string[] = [];
    const counted = countStatements(store, (text) => statements.push(text));
    // The second comes twice in a source.
    const same = [block(100, '2023-01-10'), block(101, '2023-01-12')];
    await ingestAndCompute(pipeline, [...same, ...same.slice(1)]);
    counted.stop();
    // What is stored of the heights, refused facts of them, and the first and the repeated apart; two rounds that find nothing.
    expect(statements.length, statements.join('\n\n')).toBeLessThanOrEqual(2 * 3 + 6);
    expect(await written()).toEqual(before);
    expect((await list(`cursor=${cursor}`)).changes).toEqual([]);

    for (const [from, to] of [
      ['2023-01-12', '2023-01-13'],
      ['2023-01-13', '2023-01-12'],
    ] as const) {
      const since = await newest();
      await ingestAndCompute(pipeline, [block(101, to)]);
      expect(ofTps(await list(`${TPS}&cursor=${since}`)).toSorted()).toEqual(
        [
          [from, 0],
          [to, 1],
        ].toSorted(),
      );
    }
  });
});

test('a metric that is emptied, to be computed by another definition, has changed as a whole, and then its slices', async () => {
  const { store } = pipeline.runtime;
  const cursor = await newest();
  await store.run(sql`TRUNCATE TABLE ${dailyTps.table} SYNC`);
  await resetWatermark(store, 'daily_tps');
  await pipeline.aggregator.requestRound();
  await pipeline.aggregator.waitUntilComputed();
  const { changes } = await list(`metric=daily_tps&relay_chain=polkadot&cursor=${cursor}`);
  const ofChain = changes.filter(({ chain }) => chain !== 'ecosystem');
  expect(ofChain.map(({ chain, column, value, rows }) => [chain, column, value, rows])).toEqual([
    [null, null, null, 0],
    ['polkadot', 'date', '2023-01-10', 1],
    ['polkadot', 'date', '2023-01-12', 1],
  ]);
});

test.each([
  '/api/changes?cursor=x',
  '/api/changes?since=yesterday',
  '/api/changes?since=2023-13-01',
  '/api/changes?metric=daily-nothing',
  '/api/changes?limit=10001',
  `/api/changes?since=2023-01-01&cursor=${Buffer.from('["changes","1"]').toString('base64url')}`,
  `/api/changes?cursor=${Buffer.from(`["changes","${2n ** 64n}"]`).toString('base64url')}`,
  `/api/changes?cursor=${Buffer.from('["changes","1","a","b","c"]').toString('base64url')}`,
  `/api/changes?cursor=${Buffer.from('["changes","1","a","b","c",4]').toString('base64url')}`,
  '/api/daily-tps?changed_since=',
  '/api/daily-tps?changed_since=1.5',
  '/api/daily-tps?changed_since=WyJjaGFuZ2VzIiwiLTEiXQ',
  '/api/explorer/network-stats?changed_since=2023-01-01',
  '/api/contract-call-details?changed_since=2023-01-01',
])('%s is refused with 422', async (url) => {
  expect((await get(url)).statusCode).toBe(422);
});
