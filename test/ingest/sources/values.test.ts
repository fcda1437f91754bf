import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { parseExact } from '../../../ingest/decode/json.ts';
import { parseSnapshot } from '../../../ingest/decode/snapshot.ts';
import type { ValueKind } from '../../../ingest/sources/values/adapter.ts';
import { adapterOf } from '../../../ingest/sources/values/adapters.ts';
import { ValueBackfill } from '../../../ingest/sources/values/value-backfill.ts';
import { ValueFeed, type ValuePlan } from '../../../ingest/sources/values/value-feed.ts';

const DAY = 86_400_000;
const from = Date.parse('2024-01-01');
/** The moment of the tests: three of the days have ended. */
const now = Date.parse('2024-01-04T06:00:00Z');

/** A feed on loopback that answers what the test says, and tells what it was asked. */
interface FakeFeed extends AsyncDisposable {
  readonly url: string;
  readonly asked: IncomingMessage[];
}
type Answer = string | { readonly status: number; readonly headers?: Record<string, string> };

let fake: FakeFeed;
afterEach(() => fake[Symbol.asyncDispose]());
async function answering(...answers: [Answer, ...Answer[]]): Promise<FakeFeed> {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, reply) => {
    const answer = (answers[asked.length] ?? answers.at(-1)) as Answer;
    asked.push(request);
    if (typeof answer === 'string') reply.end(answer);
    else reply.writeHead(answer.status, answer.headers).end('no');
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  fake = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return fake;
}

const signal = new AbortController().signal;
function feedOf(adapter: string, kind: ValueKind, more: Partial<ValuePlan> = {}): ValueFeed {
  const known = adapterOf(adapter);
  if (!known) throw new Error(`no ${adapter}`);
  const series = kind === 'price' ? POLKADOT : HYDRATION;
  const plan = { kind, adapter: known, url: fake.url, requestsPerMinute: 60_000, from, series: [series] };
  return new ValueFeed({ ...plan, ...more }, { signal, now: () => now, backoffMs: 1 });
}
const POLKADOT = { id: 'polkadot', relay_chain: 'polkadot', chain: 'polkadot', symbol: 'DOT' };
const HYDRATION = { id: 'Hydration', relay_chain: 'polkadot', chain: 'hydration', symbol: '' };

/** What is given to the loader, read as it reads it. */
async function valuesOf(feed: ValueFeed, stored: readonly string[] = []) {
  const backfill = new ValueBackfill(feed.plan.kind, [feed], signal);
  const lines: string[] = [];
  for await (const portion of backfill.portions(async () => stored)) {
    lines.push(
      ...Buffer.concat([...portion.lines])
        .toString()
        .trim()
        .split('\n'),
    );
  }
  const read = lines.map((line) => ({ line, snapshot: parseSnapshot(parseExact(line)) }));
  return {
    backfill,
    taken: read.flatMap(({ snapshot }) =>
      snapshot.ok ? [[snapshot.snapshot.as_of, ...Object.values(snapshot.snapshot.payload)]] : [],
    ),
    refused: read.flatMap(({ line, snapshot }) => (snapshot.ok ? [] : [{ line, reason: snapshot.reason }])),
  };
}

const at = (time: string) => Date.parse(`2024-01-${time}Z`);
const chartOf = (points: readonly (readonly [number | string, string])[]) =>
  `{"prices":[${points.map(([time, usd]) => `[${time},${usd}]`)}],"market_caps":[],"total_volumes":[]}`;

describe('coingecko', () => {
  it('gives the last price of each day that has ended, with every digit', async () => {
    await answering(
      chartOf([
        [at('01T00:03:11.331'), '7.1'],
        [at('01T23:03:11.331'), '8.219503921853406'],
        [at('02T22:59:00'), '8.30000000000000000000000000001'],
        [at('03T23:00:00'), '1.5e-7'],
        [at('04T05:00:00'), '9'],
      ]),
    );
    const { taken, refused, backfill } = await valuesOf(feedOf('coingecko', 'price', { key: 'secret' }));
    expect(taken).toEqual([
      ['2024-01-01T23:03:11.331Z', 'DOT', '8.219503921853406'],
      ['2024-01-02T22:59:00.000Z', 'DOT', '8.30000000000000000000000000001'],
      ['2024-01-03T23:00:00.000Z', 'DOT', '0.00000015'],
    ]);
    expect([refused, backfill.fetchedCount, backfill.faults]).toEqual([[], 3, []]);
    const [request] = fake.asked;
    expect(request?.url).toBe(
      `/coins/polkadot/market_chart/range?vs_currency=usd&from=${from / 1000}&to=${from / 1000 + 3 * 86_400 - 1}&precision=full`,
    );
    expect(request?.headers['x-cg-demo-api-key']).toBe('secret');
  });

  it('is asked for days that are not stored, in parts of at most 89', async () => {
    await answering(chartOf([]));
    await valuesOf(feedOf('coingecko', 'price'), ['2024-01-01', '2024-01-02', '2024-01-03']);
    expect(fake.asked).toEqual([]);
    await valuesOf(feedOf('coingecko', 'price', { from: from - 200 * DAY }), ['2024-01-03']);
    const ranges = fake.asked.map(({ url }) => new URL(url ?? '', 'http://x').searchParams);
    const days = ranges.map((query) => (Number(query.get('to')) + 1 - Number(query.get('from'))) / 86_400);
    expect(days).toEqual([89, 89, 24]);
  });

  it('makes dead letters of what is no price or of no time that was asked for, and no more than some', async () => {
    await answering(
      chartOf([
        [at('01T10:00:00'), '7.5'],
        [at('01T23:00:00'), '-3'],
        [at('02T23:00:00'), 'null'],
        [at('03T23:00:00'), '"NaN"'],
        ['"yesterday"', '7'],
        [at('03T23:00:00') + 40 * DAY, '7'],
        [from - 400 * DAY, '7'],
        ['1e300', '7'],
      ]),
    );
    const { taken, refused } = await valuesOf(feedOf('coingecko', 'price'));
    expect(taken).toEqual([['2024-01-01T10:00:00.000Z', 'DOT', '7.5']]);
    expect(refused.map(({ reason }) => reason)).toEqual([
      ...Array(3).fill('payload.usd: not a number of at least 0 and below 10^20'),
      ...Array(4).fill(expect.stringMatching(/^as_of: /)),
    ]);
    expect(refused.map(({ line }) => JSON.parse(line).as_of).slice(3)).toEqual([
      'no time: "yesterday"',
      expect.stringMatching(/^a time before 1970 or in the future: /),
      expect.stringMatching(/^a day that was not requested: /),
      expect.stringMatching(/^a time before 1970 or in the future: /),
    ]);
    await fake[Symbol.asyncDispose]();
    await answering(chartOf(Array.from({ length: 500 }, () => [at('01T01:00:00'), '-1'])));
    expect((await valuesOf(feedOf('coingecko', 'price'))).refused).toHaveLength(20);
  });

  it('is asked again after the time that it names, and not after what it refuses', async () => {
    await answering({ status: 429, headers: { 'retry-after': '0' } }, { status: 503 }, chartOf([]));
    expect((await valuesOf(feedOf('coingecko', 'price'))).backfill.faults).toEqual([]);
    expect(fake.asked).toHaveLength(3);
    for (const refusal of [
      { status: 401 },
      { status: 429, headers: { 'retry-after': '86400' } },
      { status: 302, headers: { location: 'http://127.0.0.1:9/elsewhere' } },
    ]) {
      await fake[Symbol.asyncDispose]();
      await answering(refusal);
      const { backfill } = await valuesOf(feedOf('coingecko', 'price', { key: 'secret' }));
      expect(fake.asked).toHaveLength(1);
      const [fault] = backfill.faults;
      expect(fault?.error.message).toMatch(new RegExp(`answered ${refusal.status}`));
      expect(JSON.stringify(fault)).not.toContain('secret');
    }
  });
});

describe('defillama', () => {
  it('gives prices near the end of each day', async () => {
    const prices = [at('01T23:14:52'), at('02T23:15:03'), at('03T23:16:00')].map(
      (time, i) => `{"timestamp":${time / 1000},"price":${7 + i}.25}`,
    );
    const coin = 'coingecko:polkadot';
    await answering(
      `{"coins":{"${coin}":{"symbol":"DOT","confidence":0.99,"prices":[${prices}]},"coingecko:other":{"prices":[]}}}`,
    );
    const { taken } = await valuesOf(feedOf('defillama', 'price', { series: [{ ...POLKADOT, id: coin }] }));
    expect(taken).toEqual([
      ['2024-01-01T23:14:52.000Z', 'DOT', '7.25'],
      ['2024-01-02T23:15:03.000Z', 'DOT', '8.25'],
      ['2024-01-03T23:16:00.000Z', 'DOT', '9.25'],
    ]);
    expect(fake.asked[0]?.url).toBe(
      `/chart/${coin}?start=${at('01T23:15:00') / 1000}&span=3&period=1d&searchWidth=1800`,
    );
  });

  it('gives the locked value of a chain, of its whole history only the days that are missing', async () => {
    const history = [from - 90 * DAY, from, from + DAY, from + 2 * DAY, now].map(
      (time, i) => `{"date":${time / 1000},"tvl":${1000 + i}.5}`,
    );
    await answering(`[${history}]`);
    const { taken, refused } = await valuesOf(feedOf('defillama', 'tvl'), ['2024-01-02']);
    expect(taken).toEqual([
      ['2024-01-01T00:00:00.000Z', '1001.5'],
      ['2024-01-03T00:00:00.000Z', '1003.5'],
    ]);
    expect(refused).toEqual([]);
    expect(fake.asked.map(({ url }) => url)).toEqual(['/v2/historicalChainTvl/Hydration']);
  });

  it('that answers something else is a fault, not a value', async () => {
    for (const answer of ['<html>', '{"coins":[]}', '[{"date":1}]'.slice(0, -1)]) {
      await answering(answer);
      const { backfill, taken } = await valuesOf(feedOf('defillama', 'tvl'));
      expect(backfill.faults.map(({ error }) => error.message)).toEqual([
        expect.stringMatching(/did not return JSON|returned an unexpected document/),
      ]);
      expect(taken).toEqual([]);
      if (answer !== '[{"date":1}') await fake[Symbol.asyncDispose]();
    }
  });
});

it('a feed is asked for what those before it did not give', async () => {
  await answering({ status: 500 });
  const away = feedOf('coingecko', 'price');
  const dead = fake;
  await answering(
    `{"coins":{"coingecko:polkadot":{"prices":[{"timestamp":${at('02T23:15:00') / 1000},"price":7}]}}}`,
  );
  const next = feedOf('defillama', 'price', { series: [{ ...POLKADOT, id: 'coingecko:polkadot' }] });
  const backfill = new ValueBackfill('price', [away, next], signal);
  const portions = await Array.fromAsync(backfill.portions(async () => ['2024-01-01']));
  await dead[Symbol.asyncDispose]();
  expect([portions.length, backfill.fetchedCount]).toEqual([1, 1]);
  expect(backfill.faults.map(({ source }) => source)).toEqual(['coingecko polkadot']);
});
