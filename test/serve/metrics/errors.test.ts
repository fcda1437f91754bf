import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { OUR_PATHS } from './endpoints.ts';

let pipeline: TestPipeline;
let app: FastifyInstance;

beforeAll(async () => {
  pipeline = await openTestPipeline();
  app = await buildServer(pipeline.pipeline);
});
afterAll(async () => {
  await app.close();
  await pipeline.close();
});

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

describe('errors', () => {
  it('an unknown path is a problem document that says where to look', async () => {
    const answer = await get('/api/nothing');
    expect(answer.statusCode).toBe(404);
    expect(String(answer.headers['content-type'])).toContain('application/problem+json');
    expect(answer.json().detail).toContain('/docs');
  });

  it.each([
    ['/api/daily-feees', '/api/daily-fees'],
    ['/api/monthly-gov-token?limit=1', '/api/monthly-gov-tokens'],
    ['/api/Daily_Tps', '/api/daily-tps'],
    ['/api/explorer/recent-extrinsic', '/api/explorer/recent-extrinsics'],
  ])('a path that is nearly %s names the nearest', async (url, near) => {
    expect((await get(url)).json().detail).toMatch(`did you mean ${near}? See /docs.`);
  });

  it.each([
    ['a start that is to come', 'start_date=9999-12-31'],
    ['a start before any block', 'start_date=0001-01-01'],
    ['an end before any block', 'end_date=0001-01-01'],
    ['an end that is to come', 'end_date=9999-12-31'],
  ])('%s alone is no fault of a series', async (_what, day) => {
    for (const format of ['json', 'csv', 'parquet']) {
      const answer = await get(
        `/api/series?series=daily-tps.num_blocks@polkadot/polkadot&${day}&format=${format}`,
      );
      expect(answer.statusCode, answer.body.slice(0, 300)).toBe(200);
    }
    const reversed = await get(
      '/api/series?series=daily-tps.num_blocks@polkadot/polkadot&start_date=1960-01-02&end_date=1960-01-01',
    );
    expect(reversed.json().detail).toMatchObject([{ loc: ['query', 'end_date'] }]);
  });

  it('a key that nobody was given is 401, not anonymous', async () => {
    const answer = await get('/api/daily-tps', { authorization: 'Bearer guess' });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('Bearer');
    expect(answer.body).not.toContain('guess');
  });

  it('a failure of the store is a 500 without its text', async () => {
    const { store } = pipeline.pipeline.runtime;
    const { bytes } = store;
    store.bytes = () => Promise.reject(new Error('SELECT secret FROM internal'));
    try {
      const answer = await get('/api/daily-tps?chain=shiden');
      expect(answer.statusCode).toBe(500);
      expect(answer.body).not.toMatch(/SELECT|internal|at /);
    } finally {
      store.bytes = bytes;
    }
  });

  it('every fault of a request is named at once', async () => {
    const answer = await get('/api/daily-summary?relay_chain=mars&foo=1&limit=-1');
    expect(answer.statusCode).toBe(422);
    const places = answer.json<{ detail: { loc: string[] }[] }>().detail.map(({ loc }) => loc[1]);
    expect(places.sort()).toEqual(['end_date', 'foo', 'limit', 'relay_chain', 'start_date']);
  });

  it.each([
    ['limit=0', 'less than 1'],
    ['limit=1000000', /^more than \d+$/],
    ['chain=', 'empty'],
    [`chain=${'a'.repeat(129)}`, 'more than 128 characters'],
  ])('%s is refused in words', async (query, msg) => {
    const answer = await get(`/api/daily-tps?${query}`);
    expect(answer.json().detail).toMatchObject([{ msg: expect.stringMatching(msg) }]);
  });
});

describe('what describes the service', () => {
  it.each(OUR_PATHS.filter((path) => path.startsWith('/api/')))(
    '%s refuses a parameter that it does not know',
    async (path) => {
      const answer = await get(`${path.replace('{metric}', 'daily-fees')}?unknown=1`);
      expect(answer.statusCode).toBe(422);
      expect(answer.json().detail[0]).toMatchObject({ type: 'extra_forbidden', loc: ['query', 'unknown'] });
    },
  );

  it('probes, figures, status and coverage answer', async () => {
    for (const url of [
      '/health/live',
      '/health/ready',
      '/metrics',
      '/api/status',
      '/api/coverage',
      '/docs',
    ]) {
      expect((await get(url)).statusCode, url).toBe(200);
    }
    expect((await get('/metrics')).body).toContain('chain_metrics_http_request_duration_seconds_bucket');
  });
});
