import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Logger } from '../../../infra/logger.ts';
import { openTracer } from '../../../infra/tracing/open-tracer.ts';
import { NO_TRACER, type Span, type SpanOptions, type Tracer } from '../../../infra/tracing/tracer.ts';
import { readConfig } from '../../../serve/settings.ts';
import { Collector } from '../../support/collector.ts';
import { product } from '../../support/source-files.ts';

const PROCESS = { version: '1.2.3', roles: ['load', 'work'] };

let collector: Collector;
let told: string[];
const open: Tracer[] = [];
beforeEach(async () => {
  collector = await Collector.open();
  told = [];
});
afterEach(async () => {
  for (const tracer of open.splice(0)) await tracer.close();
  await collector.close();
});

async function tracerOf(settings: Record<string, string> = {}): Promise<Tracer> {
  const note = (level: string) => (_facts: object, text: string) => void told.push(`${level} ${text}`);
  const logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
  const config = readConfig({ ...collector.settings, ...settings });
  const tracer = await openTracer(config, PROCESS, logger as unknown as Logger);
  open.push(tracer);
  return tracer;
}

/** What the collector has when the tracer is closed. */
async function collected(tracer: Tracer) {
  await tracer.close();
  return collector.spans;
}

const parentOf = (trace: number, flags: '00' | '01') =>
  `00-${String(trace).padStart(32, '0')}-${'b'.repeat(16)}-${flags}`;
const traceOf = (span: Span) => span.traceparent?.split('-')[1];
const started = (tracer: Tracer, name: string, options?: SpanOptions) => {
  const span = tracer.start(name, options);
  span.end();
  return span;
};

describe('tracing', () => {
  test.each([
    ['nothing is set', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['it is disabled', { OTEL_SDK_DISABLED: 'true' }],
    ['nothing is to be exported', { OTEL_TRACES_EXPORTER: 'none' }],
  ])('is off where %s', async (_title, settings) => {
    expect(await tracerOf(settings)).toBe(NO_TRACER);
  });

  test('loads the SDK only where it is on', () => {
    const users = product.filter(({ packages }) =>
      packages.some((name) => name.startsWith('@opentelemetry/')),
    );
    const paths = users.map(({ path }) => path);
    expect(paths.every((path) => path.startsWith('infra/tracing/'))).toBe(true);
    const importers = product.filter(({ runtimeImports }) => runtimeImports.some((to) => paths.includes(to)));
    const others = importers.map(({ path }) => path).filter((path) => !paths.includes(path));
    // It imports when it is called.
    expect(others).toEqual(['infra/tracing/open-tracer.ts']);
  });

  test('sends to a collector on this machine where only the exporter is named, and to a whole address as it is', async () => {
    const whole = await tracerOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/take/traces`,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%2Cb',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    });
    started(whole, 'work');
    expect(await collected(whole)).toHaveLength(1);
    expect(collector.headers[0]).toMatchObject({
      url: '/take/traces',
      'api-key': 'a,b',
      'content-encoding': 'gzip',
      'content-type': 'application/x-protobuf',
    });
    const local = await tracerOf({ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_EXPORTER: 'otlp' });
    expect(local.isOn).toBe(true);
  });

  test('says which process a span is of', async () => {
    const tracer = await tracerOf({
      OTEL_SERVICE_NAME: 'chains',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=test%20bed',
    });
    started(tracer, 'work', { kind: 'client', attributes: { n: 1 } });
    const [span] = await collected(tracer);
    expect(span).toMatchObject({ name: 'work', kind: 3, attributes: { n: 1 } });
    expect(span?.resource).toMatchObject({
      'service.name': 'chains',
      'service.version': '1.2.3',
      'chain_metrics.roles': ['load', 'work'],
      'deployment.environment.name': 'test bed',
    });
  });
});

describe('a span', () => {
  test('continues the trace of its one cause, and of the active span without any', async () => {
    const tracer = await tracerOf();
    const outer = tracer.start('outer', { causes: [parentOf(7, '01'), undefined, parentOf(7, '01')] });
    const inner = tracer.within(outer, () => started(tracer, 'inner'));
    outer.end();
    const late = tracer.within(outer, () => started(tracer, 'after its end'));
    const apart = tracer.within(tracer.start('never ends'), () =>
      tracer.apart(() => started(tracer, 'apart')),
    );
    expect([traceOf(outer), traceOf(inner)]).toEqual([traceOf(inner), parentOf(7, '01').split('-')[1]]);
    const traces = [late, apart, outer].map(traceOf);
    expect(new Set(traces).size).toBe(3);
    const spans = await collected(tracer);
    expect(spans.find(({ name }) => name === 'outer')?.parent).toBe('b'.repeat(16));
  });

  test('that follows from several traces has one of its own, linked to some of them', async () => {
    const tracer = await tracerOf();
    const causes = Array.from({ length: 40 }, (_, i) => parentOf(i + 1, '01'));
    const span = started(tracer, 'many', { causes: [parentOf(99, '00'), ...causes] });
    const [found] = await collected(tracer);
    expect(found?.links.map(({ trace }) => Number(trace))).toEqual(
      Array.from({ length: 32 }, (_, i) => i + 1),
    );
    expect(found?.parent).toBe('');
    expect(Number(traceOf(span))).not.toBeLessThan(100);
  });

  test('that fails tells the kind of its error, and nothing of its text', async () => {
    const tracer = await tracerOf();
    const failing = tracer.span('fails', {}, () => Promise.reject(new TypeError('a secret')));
    await expect(failing).rejects.toThrow('a secret');
    const [found] = await collected(tracer);
    expect(found).toMatchObject({ isFailed: true, attributes: { 'error.type': 'TypeError' } });
    expect(JSON.stringify(found)).not.toContain('secret');
  });

  test.each([
    '',
    '00',
    `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
    `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`,
    `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    `00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`,
    `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01-more`,
    `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01, 00-${'c'.repeat(32)}-${'b'.repeat(16)}-01`,
    `01-${'a'.repeat(32)}-${'b'.repeat(16)}-01-${'x'.repeat(100_000)}`,
    '\u0000'.repeat(55),
  ])('begins a trace where its caller writes %j', async (caller) => {
    const tracer = await tracerOf();
    started(tracer, 'request', { caller });
    const [found] = await collected(tracer);
    expect(found).toMatchObject({ parent: '', links: [] });
  });

  test('keeps only the flag that is known of its caller', async () => {
    const tracer = await tracerOf();
    const span = started(tracer, 'request', { caller: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-ff` });
    expect(span.traceparent).toMatch(/^00-a{32}-[0-9a-f]{16}-01$/);
  });
});

describe('a sampler', () => {
  const SOME = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' };

  test('records what it begins by its ratio, and what another process recorded', async () => {
    const tracer = await tracerOf(SOME);
    started(tracer, 'begun');
    started(tracer, 'left out elsewhere', { causes: [parentOf(1, '00')] });
    started(tracer, 'recorded elsewhere', { causes: [parentOf(2, '01')] });
    started(tracer, 'of several', { causes: [parentOf(3, '01'), parentOf(4, '01'), parentOf(5, '00')] });
    const names = (await collected(tracer)).map(({ name }) => name);
    expect(names).toEqual(['recorded elsewhere', 'of several']);
  });

  test('lets only so many callers have their requests recorded', async () => {
    const tracer = await tracerOf({ ...SOME, TRACED_CALLERS_PER_SECOND: '0' });
    started(tracer, 'limited', { caller: parentOf(1, '01') });
    expect(await collected(tracer)).toEqual([]);
    const all = await tracerOf({ TRACED_CALLERS_PER_SECOND: '0' });
    started(all, 'recorded anyway', { caller: parentOf(2, '01') });
    const [found] = await collected(all);
    expect(Number(found?.trace)).toBe(2);
  });

  test('is asked as for a new trace where traces of others are not continued', async () => {
    const tracer = await tracerOf({ OTEL_PROPAGATORS: 'b3' });
    const span = started(tracer, 'request', { caller: parentOf(1, '01') });
    expect(traceOf(span)).not.toBe(parentOf(1, '01').split('-')[1]);
    expect(tracer.within(tracer.start('work'), () => tracer.headers)).toEqual({});
    const passing = await tracerOf();
    const work = passing.start('work');
    expect(passing.within(work, () => passing.headers)).toEqual({ traceparent: work.traceparent });
  });
});

describe('a collector that takes nothing', () => {
  test('is told of once, and once more when it does again', async () => {
    collector.status = 400;
    const tracer = await tracerOf();
    for (const name of ['one', 'two', 'three']) {
      const before = collector.headers.length;
      started(tracer, name);
      await collector.asked(before + 1);
    }
    collector.status = 200;
    started(tracer, 'four');
    await collector.find('the fourth', ({ name }) => name === 'four');
    await tracer.close();
    expect(told).toEqual([
      'warn traces are lost until the collector takes them',
      'info the collector takes traces again',
    ]);
  });

  test('keeps nothing waiting at the end of a process', async () => {
    const tracer = await tracerOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
    for (let i = 0; i < 3000; i++) started(tracer, 'lost');
    await tracer.close();
    expect(collector.spans).toEqual([]);
  });
});
