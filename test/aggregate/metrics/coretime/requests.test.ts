import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordedLines } from '../../../support/recordings.ts';
import { ALICE, LEFT, openServed, type Served } from './served.ts';

let served: Served;
beforeAll(async () => {
  served = await openServed();
  await served.ingest(...recordedLines('runtime').filter(({ chain }) => chain === 'coretime-polkadot'));
});
afterAll(() => served.close());

type Answered = Awaited<ReturnType<typeof served.app.inject>>;
const count = async (url: string) => (await served.rows(url)).length;
const fault = async (url: string) => {
  const answer = await served.app.inject({ url });
  expect(answer.statusCode).toBe(422);
  return answer
    .json<{ detail: { type: string; loc: string[] }[] }>()
    .detail.map(({ type, loc }) => [type, loc[1]]);
};

const PATHS = [
  '/api/coretime-utilization',
  '/api/coretime-sales',
  '/api/coretime-sale-metrics',
  '/api/coretime-purchases',
  '/api/coretime-renewals',
  '/api/coretime-account-spend',
  '/api/coretime-total-burn',
  '/api/coretime-regions',
  '/api/coretime-region-events',
  '/api/coretime-region-history?region_begin=325006&r_core=8',
];
const LISTED = PATHS.filter((path) => !/utilization|burn/.test(path));
const and = (path: string, more: string) => `${path}${path.includes('?') ? '&' : '?'}${more}`;

describe('every coretime path', () => {
  it.each(LISTED)('%s: pages of one follow each other through all rows in order', async (path) => {
    const whole = await served.rows(path);
    const paged: unknown[] = [];
    for (let url: string | undefined = and(path, 'limit=1'); url !== undefined; ) {
      const answer: Answered = await served.app.inject({ url });
      expect(answer.statusCode).toBe(200);
      paged.push(...answer.json<unknown[]>());
      url = /<([^>]+)>; rel="next"/.exec(String(answer.headers.link ?? ''))?.[1];
    }
    expect(whole.length).toBeGreaterThan(0);
    expect(paged).toEqual(whole);
  });

  it.each(PATHS)('%s: has the parameter relay_chain and not chain', async (path) => {
    expect(await fault(and(path, 'relay_chain=westend'))).toEqual([['enum', 'relay_chain']]);
    expect(await fault(and(path, 'chain=coretime-polkadot'))).toEqual([['extra_forbidden', 'chain']]);
    expect(await count(and(path, 'relay_chain=kusama'))).toBe(0);
    if (path.includes('utilization')) expect(await fault(and(path, 'relay_chain=solo'))).toHaveLength(1);
    else expect(await count(and(path, 'relay_chain=solo'))).toBe(0);
  });

  it.each(['csv', 'ndjson', 'parquet', 'arrow'])('respond in the format %s', async (format) => {
    for (const path of LISTED) {
      expect((await served.app.inject({ url: and(path, `format=${format}`) })).statusCode).toBe(200);
    }
  });

  it('write lists and objects as JSON text in tabular formats', async () => {
    const answer = await served.app.inject({ url: '/api/coretime-renewals?format=csv&limit=1' });
    expect(answer.body).toContain('"[{""mask"":""0xffffffffffffffffffff"",""assignment"":{""task"":3003}}]"');
  });
});

describe('filters', () => {
  it.each([
    ['/api/coretime-sales?region_begin=325012', 1],
    ['/api/coretime-sales?start_date=2026-11-21&end_date=2026-11-21', 5],
    ['/api/coretime-sales?end_date=2026-11-20', 0],
    ['/api/coretime-sale-metrics?region_begin=1', 0],
    ['/api/coretime-purchases?region_begin=325012', 5],
    [`/api/coretime-purchases?who=${ALICE.anywhere}`, 2],
    [`/api/coretime-purchases?who=${ALICE.kusama}&purchase_type=bulk`, 1],
    ['/api/coretime-purchases?purchase_type=renewal', 2],
    ['/api/coretime-purchases?start_date=2026-11-22', 0],
    [`/api/coretime-renewals?who=${ALICE.polkadot}&region_begin=325012`, 1],
    ['/api/coretime-renewals?start_date=2026-11-21', 2],
    [`/api/coretime-account-spend?who=${ALICE.anywhere}`, 1],
    ['/api/coretime-regions?region_begin=325006&r_core=8', 3],
    [`/api/coretime-regions?r_mask=${LEFT.toUpperCase().replace('X', 'x')}`, 1],
    [`/api/coretime-regions?owner=${ALICE.kusama}`, 2],
    ['/api/coretime-region-events?event_type=Assign', 4],
    ['/api/coretime-region-events?event_type=Interlace&r_core=8&region_begin=325012', 1],
    [`/api/coretime-region-events?r_mask=${LEFT}`, 1],
    ['/api/coretime-region-events?start_date=2026-11-21&end_date=2026-11-21', 8],
    [`/api/coretime-region-history?region_begin=325006&r_core=8&r_mask=${LEFT}`, 2],
  ])('%s: %i rows', async (url, rows) => {
    expect(await count(url)).toBe(rows);
  });

  it.each([
    ['/api/coretime-sales?region_begin=first', [['int', 'region_begin']]],
    ['/api/coretime-sales?start_date=2026-02-30', [['date', 'start_date']]],
    ['/api/coretime-sales?start_date=2026-02-03&end_date=2026-02-02', [['value_error', 'end_date']]],
    ['/api/coretime-sale-metrics?start_date=2026-02-03', [['extra_forbidden', 'start_date']]],
    ['/api/coretime-purchases?purchase_type=Bulk', [['enum', 'purchase_type']]],
    ['/api/coretime-purchases?who=alice', [['value_error', 'who']]],
    ['/api/coretime-regions?r_mask=left', [['value_error', 'r_mask']]],
    ['/api/coretime-regions?r_core=-1', [['int', 'r_core']]],
    ['/api/coretime-region-events?event_type=Pool', [['enum', 'event_type']]],
    [
      '/api/coretime-region-history?relay_chain=polkadot',
      [
        ['missing', 'region_begin'],
        ['missing', 'r_core'],
      ],
    ],
  ])('%s: refused', async (url, faults) => {
    expect(await fault(url)).toEqual(faults);
  });
});
