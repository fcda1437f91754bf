import { type Span, SpanKind } from '@opentelemetry/api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Logger } from '../../../infra/logger.ts';
import {
  activeTraceparent,
  inSpan,
  startSpan,
  withActiveSpan,
  withoutSpan,
} from '../../../infra/tracing/spans.ts';
import { startTracing } from '../../../infra/tracing/start-tracing.ts';
import { Collector } from '../../support/collector.ts';
import { product } from '../../support/source-files.ts';

const ENVIRONMENT = { ...process.env };

let collector: Collector;
let logged: string[];
let stop: () => Promise<void> = async () => undefined;
beforeEach(async () => {
  collector = await Collector.open();
  logged = [];
});
afterEach(async () => {
  await stop();
  stop = async () => undefined;
  process.env = { ...ENVIRONMENT };
  await collector.close();
});

async function start(variables: Record<string, string> = {}): Promise<void> {
  Object.assign(process.env, collector.settings, variables);
  const logger = { warn: ({ reason }: { reason: string }) => void logged.push(reason) };
  stop = await startTracing({ version: '1.2.3', roles: ['serve'] }, logger as unknown as Logger);
}

/** The spans that the collector has after the stop. */
async function collected() {
  await stop();
  return collector.spans;
}

const parentOf = (id: number, flags: '00' | '01') =>
  `00-${String(id).padStart(32, '0')}-${'b'.repeat(16)}-${flags}`;
const idOf = (span: Span) => span.spanContext().traceId;
const ended = (...given: Parameters<typeof startSpan>) => {
  const span = startSpan(...given);
  span.end();
  return span;
};

describe('tracing', () => {
  test('is off without variables that ask for it', async () => {
    await start({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
    expect(ended('work').isRecording()).toBe(false);
    expect(await inSpan('work', {}, async () => activeTraceparent())).toBeUndefined();
  });

  test('loads the SDK only where it is on', () => {
    const loads = product.filter(({ text }) => /from '@opentelemetry\/(?!api')/.test(text));
    expect(loads.map(({ path }) => path)).toEqual([]);
  });

  test('describes the process, without its command line', async () => {
    await start({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bed' });
    ended('work', { kind: SpanKind.CLIENT, attributes: { n: 1 } });
    const [span] = await collected();
    expect(span).toMatchObject({ name: 'work', kind: 3, attributes: { n: 1 } });
    expect(span?.resource).toMatchObject({
      'service.name': 'chain-metrics',
      'service.version': '1.2.3',
      'deployment.environment.name': 'test bed',
    });
    expect(Object.keys(span?.resource ?? {}).filter((name) => name.startsWith('process.'))).toEqual([]);
  });

  test('names its service as OpenTelemetry does', async () => {
    await start({ OTEL_SERVICE_NAME: 'chains' });
    ended('work');
    expect((await collected())[0]?.resource).toMatchObject({ 'service.name': 'chains' });
  });

  test('warns of a collector that is down once a minute, and ends without it', async () => {
    collector.status = 400;
    await start();
    for (const name of ['one', 'two', 'three']) {
      const before = collector.headers.length;
      ended(name);
      await collector.asked(before + 1);
    }
    expect(logged).toEqual([expect.stringContaining('Bad Request')]);
  });

  test('warns of each variable that the SDK does not understand', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'jaeger', OTEL_PROPAGATORS: 'post' });
    expect(logged.join()).toContain('jaeger');
    expect(logged.join()).toContain('post');
  });
});

describe('a span', () => {
  test('continues the trace of its one cause, and of the active span without any', async () => {
    await start();
    const outer = startSpan('outer', { causes: [parentOf(7, '01'), undefined, parentOf(7, '01')] });
    const inner = withActiveSpan(outer, () => ended('inner'));
    const outside = withActiveSpan(outer, () => withoutSpan(() => ended('outside')));
    expect(withActiveSpan(outer, activeTraceparent)).toBe(
      `00-${idOf(outer)}-${outer.spanContext().spanId}-01`,
    );
    outer.end();
    expect(withActiveSpan(outer, activeTraceparent)).toBeUndefined();
    expect([idOf(outer), idOf(inner)]).toEqual([idOf(inner), parentOf(7, '01').split('-')[1]]);
    expect(idOf(outside)).not.toBe(idOf(outer));
    const spans = await collected();
    expect(spans.find(({ name }) => name === 'outer')?.parent).toBe('b'.repeat(16));
  });

  test('of several traces continues the first that is recorded, and is linked to some of the others', async () => {
    await start();
    const causes = Array.from({ length: 40 }, (_, i) => parentOf(i + 1, '01'));
    const span = ended('many', { causes: [parentOf(99, '00'), ...causes] });
    const [found] = await collected();
    expect(Number(idOf(span))).toBe(1);
    expect(found?.links.map(({ trace: id }) => Number(id))).toEqual(
      Array.from({ length: 32 }, (_, i) => i + 2),
    );
  });

  test('that fails tells the kind of its error, and nothing of its text', async () => {
    await start();
    const failing = inSpan('fails', {}, () => Promise.reject(new TypeError('a secret')));
    await expect(failing).rejects.toThrow('a secret');
    const [found] = await collected();
    expect(found).toMatchObject({ isFailed: true, attributes: { 'error.type': 'TypeError' } });
    expect(JSON.stringify(found)).not.toContain('secret');
  });

  test.each([
    ['empty', ''],
    ['cut', '00'],
    ['of no trace', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`],
    ['long', `00-${'a'.repeat(100_000)}`],
    ['no text', '\u0000'],
  ])('begins a trace if its cause is %s', async (_what, cause) => {
    await start();
    ended('work', { causes: [cause] });
    const [found] = await collected();
    expect(found).toMatchObject({ parent: '', links: [] });
  });

  test('of a trace that is left out is left out in every process', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' });
    const traceparent = await inSpan('begun', {}, async () => activeTraceparent());
    expect(traceparent).toMatch(/-00$/);
    ended('elsewhere', { causes: [traceparent] });
    ended('recorded elsewhere', { causes: [parentOf(2, '01')] });
    expect((await collected()).map(({ name }) => name)).toEqual(['recorded elsewhere']);
  });
});
