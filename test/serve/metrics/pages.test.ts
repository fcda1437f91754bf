import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildServer } from '../../../serve/compose-server.ts';
import { chart, LINES_MAX } from '../../../serve/metrics/pages/chart.ts';
import { drawables } from '../../../serve/metrics/pages/series.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';

const at = (day: string) => new Date(`${day}T00:00:00Z`);
const seriesOf = (name: string, points: Record<string, number>) => ({
  name,
  points: Object.entries(points).map(([day, value]) => ({ at: at(day), value })),
});
const count = (text: string, part: string) => text.split(part).length - 1;

describe('a chart', () => {
  it('has a line for each series, broken where days have no value, and a value behind each point', () => {
    const { text } = chart(
      [
        seriesOf('polkadot', { '2026-01-01': 1, '2026-01-02': 5, '2026-01-05': 2 }),
        seriesOf('moonbeam', { '2026-01-01': 3 }),
      ],
      'a label',
    );
    expect(count(text, '<path ')).toBe(3);
    expect(count(text, '<circle ')).toBe(4);
    expect(text).toContain('<title>polkadot\n2026-01-02: 5</title>');
    expect(text).toContain('aria-label="a label"');
  });

  it('goes on over months, whose values stand at their last day', () => {
    const { text } = chart([seriesOf('polkadot', { '2026-01-31': 1, '2026-02-28': 2, '2026-03-31': 3 })], '');
    expect(count(text, '<path ')).toBe(1);
  });

  it('draws no more lines than can be told apart', () => {
    const many = Array.from({ length: LINES_MAX + 3 }, (_, i) => seriesOf(`chain-${i}`, { '2026-01-01': i }));
    expect(count(chart(many, '').text, '<circle ')).toBe(LINES_MAX);
  });

  it('without a value says what to do', () => {
    expect(chart([], '').text).toContain('chain-metrics ingest');
  });

  it('writes names as text', () => {
    expect(chart([seriesOf('<script>', { '2026-01-01': 1 })], '').text).not.toContain('<script>');
  });
});

describe('the first page', () => {
  let pipeline: TestPipeline;
  let app: FastifyInstance;
  const page = async (query = '') => (await app.inject({ url: `/${query}` })).body;

  beforeAll(async () => {
    pipeline = await openTestPipeline();
    await ingestAndCompute(pipeline.pipeline, recordedLines('runtime'));
    app = await buildServer(pipeline.pipeline);
  });
  afterAll(async () => {
    await app.close();
    await pipeline.close();
  });

  it('draws every number that is kept by chain and day or month', async () => {
    expect(drawables.length).toBeGreaterThan(60);
    for (const { id, column } of drawables) {
      const body = await page(`?show=${id}&days=3650`);
      expect(body, id).toContain(`<code>${column}</code>`);
      expect(body, id).toMatch(/<svg |No values in this range/);
    }
    expect(await page('?show=daily-summary.num_events&days=3650')).toContain('<circle ');
  });

  it('lists the chains that are stored', async () => {
    expect(await page()).toMatch(/<td>polkadot<\/td><td>polkadot<\/td><td class="number">\d/);
  });

  it.each(['?show=nothing', '?relay_chain=<script>', '?days=-1', '?days=1e9', '?show=a&show=b'])(
    'takes %s for nothing in particular',
    async (query) => {
      const answer = await app.inject({ url: `/${query}` });
      expect(answer.statusCode).toBe(200);
      expect(answer.body).not.toContain('<script>');
    },
  );

  it('holds no script and no style of its own', async () => {
    const answer = await app.inject({ url: '/' });
    expect(answer.body).not.toMatch(/<script|<style| style=| on[a-z]+=/);
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  });
});
