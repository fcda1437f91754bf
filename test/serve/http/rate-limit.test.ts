import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testConfig } from '../../support/test-config.ts';

const START = Date.parse('2026-03-01T12:00:10.000Z');
const directory = temporaryDirectory();
let now = START;
let pipeline: Pipeline;

beforeAll(async () => {
  const limits = { ANONYMOUS_PER_MINUTE: '3', ANONYMOUS_PER_DAY: '5', TRUST_PROXY: '1' };
  pipeline = await openPipeline(
    testConfig({ DATA_DIR: directory.path, EVENT_LOOP_DELAY_MS_MAX: '0', ...limits }),
    {
      clock: { now: () => now },
    },
  );
});
afterAll(async () => {
  await pipeline.close();
  directory[Symbol.dispose]();
});

describe('anonymous limits', () => {
  it('count by address, tell what is left, and end with the minute and the day', async () => {
    const app = await buildServer(pipeline);
    const ask = (address: string) =>
      app.inject({ url: '/api/daily-tps', headers: { 'x-forwarded-for': address } });

    const first = await ask('192.0.2.1');
    expect(first.statusCode).toBe(200);
    expect(first.headers['ratelimit-limit']).toBe('3');
    expect(first.headers['ratelimit-remaining']).toBe('2');
    expect(first.headers['ratelimit-policy']).toBe('"minute";q=3;w=60, "day";q=5;w=86400');
    await ask('192.0.2.1');
    await ask('192.0.2.1');

    const refused = await ask('192.0.2.1');
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['retry-after']).toBe('50');
    expect(refused.json()).toMatchObject({ status: 429, title: 'Too Many Requests' });
    expect((await ask('192.0.2.2')).statusCode).toBe(200);

    now += 60_000;
    expect((await ask('192.0.2.1')).statusCode).toBe(200);
    const day = await ask('192.0.2.1');
    expect(day.statusCode).toBe(429);
    expect(Number(day.headers['retry-after'])).toBeGreaterThan(40_000);

    now += 86_400_000;
    expect((await ask('192.0.2.1')).statusCode).toBe(200);
    await app.close();
  });

  it('cannot be evaded by invented entries of X-Forwarded-For, nor by other addresses of an IPv6 network', async () => {
    const app = await buildServer(pipeline);
    const ask = async (forwarded: string) =>
      (await app.inject({ url: '/api/daily-tps', headers: { 'x-forwarded-for': forwarded } })).statusCode;
    const invented = [];
    for (let i = 0; i < 20; i++) invented.push(await ask(`203.0.113.${i}, 192.0.2.77`));
    expect(invented.filter((status) => status === 200)).toHaveLength(3);
    const network = [];
    for (let i = 0; i < 20; i++) network.push(await ask(`2001:db8:0:7:${i}::1`));
    expect(network.filter((status) => status === 200)).toHaveLength(3);
    expect(await ask('2001:db8:0:8::1')).toBe(200);
    const mapped = [
      await ask('192.0.2.80'),
      await ask('::ffff:192.0.2.80'),
      await ask('192.0.2.80:1'),
      await ask('::ffff:c000:250'),
    ];
    expect(mapped).toEqual([200, 200, 200, 429]);
    await app.close();
  });

  it('count a cached answer and a 304 like a rendered one, and say the same of it', async () => {
    const app = await buildServer(pipeline);
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    const ask = (address: string, headers: Record<string, string> = {}) =>
      fetch(`${origin}/api/daily-fees`, { headers: { 'x-forwarded-for': address, ...headers } });
    const headersOf = ({ headers }: Response, ...but: string[]) =>
      [...headers].filter(([name]) => !['date', ...but].includes(name));
    const rendered = await ask('198.51.100.1');
    const again = await ask('198.51.100.3');
    expect([again.status, headersOf(again), await again.text()]).toEqual([
      ...[200, headersOf(rendered), await rendered.text()],
    ]);

    const known = { 'if-none-match': String(again.headers.get('etag')) };
    const same = [await ask('198.51.100.4', known), await ask('198.51.100.5', known)];
    expect(same.map(({ status }) => status)).toEqual([304, 304]);
    expect(headersOf(same[1] as Response)).toEqual(headersOf(same[0] as Response));

    const left = [again, await ask('198.51.100.3'), await ask('198.51.100.3'), await ask('198.51.100.3')];
    expect(left.map(({ headers }) => headers.get('ratelimit-remaining'))).toEqual(['2', '1', '0', '0']);
    expect(left.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(await left[3]?.json()).toMatchObject({ title: 'Too Many Requests' });
    expect(headersOf(await ask('198.51.100.6', { host: 'b' }))).toEqual(headersOf(again));
    const coded = await ask('198.51.100.7', { 'content-encoding': 'gzip' });
    expect(coded.status).toBe(415);
    now += 60_000;
    // The refused one was counted once: one of the day is left.
    expect((await ask('198.51.100.3')).status).toBe(200);
    const metric = await pipeline.processMetrics.requests.seconds.get();
    const counted = metric.values.filter(
      ({ metricName, labels }) => metricName?.endsWith('_count') && labels.route === '/api/daily-fees',
    );
    const byStatus = Object.fromEntries(counted.map(({ labels, value }) => [labels.status, value]));
    expect(byStatus).toEqual({ 200: 6, 304: 2, 415: 1, 429: 1 });
    await app.close();
  });

  it('do not stand before probes', async () => {
    const app = await buildServer(pipeline);
    for (let i = 0; i < 10; i++) expect((await app.inject('/health/live')).statusCode).toBe(200);
    await app.close();
  });
});
