import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chainHour } from '../../aggregate/metrics/activity/chain-hour.ts';
import { Aggregator } from '../../aggregate/runner/aggregator.ts';
import { aggregatorLimits } from '../../aggregate/settings.ts';
import { EmbeddedKeyValue } from '../../infra/embedded/key-value.ts';
import { EmbeddedQueue } from '../../infra/embedded/queue.ts';
import { openLogger } from '../../infra/logger.ts';
import { inSpan } from '../../infra/tracing/spans.ts';
import { SourceFollower } from '../../ingest/follow/source-follower.ts';
import { ingestTarget } from '../../serve/application/cli/ingest-target.ts';
import { LocalClient } from '../../serve/application/operations/client.ts';
import { until } from '../infra/ports/opened.ts';
import { FakeSidecar, recordedBlocks } from '../ingest/sources/fake-sidecar.ts';
import { type CollectedSpan, Collector } from '../support/collector.ts';
import { ROOT } from '../support/source-files.ts';
import { Receiver } from './alerts/receiver.ts';
import { Service, type Source } from './alerts/service.ts';

const SAMPLE = new URL('../../ingest/sample/moonbeam.ndjson.gz', import.meta.url);
const BLOCK = gunzipSync(readFileSync(SAMPLE)).toString('utf8').trim();

let collector: Collector;
let receiver: Receiver;
let service: Service;
let source: Source;
beforeAll(async () => {
  collector = await Collector.open();
  receiver = await Receiver.open();
  Object.assign(process.env, collector.settings);
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true' });
  const ann = await service.person('ann');
  const project = await service.project(ann, { creates_incidents: true });
  source = await service.source(ann, project);
  await service.api(ann, 'POST', `/projects/${project}/hooks`, { name: 'chat', url: receiver.url });
});
afterAll(async () => {
  await service?.close();
  for (const name of Object.keys(collector.settings)) delete process.env[name];
  await collector?.close();
  receiver?.close();
});

/** A caller's span in a trace of its own. */
const caller = (n: number) => ({ trace: String(n).padStart(32, 'c'), span: 'b7ad6b7169203331' });
const headerOf = ({ trace, span }: ReturnType<typeof caller>) => ({ traceparent: `00-${trace}-${span}-01` });

/** A span of a trace by the beginning of its name. */
const inTrace = (trace: string, name: string) =>
  collector.find(`${name} in the trace`, (span) => span.trace === trace && span.name.startsWith(name));

const countOf = (trace: string, name: string) =>
  collector.spans.filter((span) => span.trace === trace && span.name === name).length;

/** The span that published the block. */
async function ingest(block: string): Promise<CollectedSpan> {
  const known = new Set(collector.spans);
  await service.pipeline.ingest(Readable.from([`${block}\n`]), { name: 'moonbeam.ndjson' });
  await service.pipeline.waitUntilComputed();
  return collector.find(
    'the block is published',
    (span) => span.name === 'send chain.blocks.v1' && !known.has(span),
  );
}

describe('an alert', () => {
  test('is followed from its caller over the log and the decision to its row', async () => {
    const sender = caller(1);
    const { status } = await service.send(source, { title: 'Disk full' }, headerOf(sender));
    expect(status).toBe(200);
    const write = await inTrace(sender.trace, 'insert alert_events');
    const request = await inTrace(sender.trace, 'POST /');
    const decision = await inTrace(sender.trace, 'process alerts.v1');
    const batch = await inTrace(sender.trace, 'write alerts');
    expect([request, decision, batch, write].map(({ parent }) => parent)).toEqual([
      sender.span,
      request.id,
      decision.id,
      batch.id,
    ]);
    expect(await inTrace(sender.trace, 'send alerts.v1')).toMatchObject({ parent: request.id, kind: 4 });
    expect(decision).toMatchObject({ kind: 5, attributes: { 'chain_metrics.alert.created': 1 } });
    expect(request.attributes).toMatchObject({ 'http.response.status_code': 200, 'url.scheme': 'http' });
    // Neither the address, which has the id of the integration, nor its key.
    expect(JSON.stringify(request)).not.toContain(source.id);
    expect(JSON.stringify(collector.spans)).not.toContain(source.key);
  });

  test('is followed further to its incident and its webhook, which is told of the trace', async () => {
    const sender = caller(2);
    await service.send(source, { title: 'Memory full' }, headerOf(sender));
    const webhook = await inTrace(sender.trace, 'POST webhook');
    expect(webhook).toMatchObject({ kind: 3, attributes: { 'http.response.status_code': 200 } });
    await until('the receiver is told', () =>
      receiver.accepted.some(({ traceparent }) => traceparent === `00-${sender.trace}-${webhook.id}-01`),
    );
    // Where it is carried out together with the alert before, that is a trace of its own, linked to both.
    await collector.find(
      'incidents of the alert',
      ({ name, trace, links }) =>
        [trace, ...links.map((link) => link.trace)].includes(sender.trace) && name === 'update incidents',
    );
  });

  test('of many that are written together each has its own trace, and the write is linked to all', async () => {
    const senders = Array.from({ length: 20 }, (_, i) => caller(100 + i));
    await Promise.all(senders.map((of, i) => service.send(source, { title: `Disk ${i}` }, headerOf(of))));
    for (const { trace } of senders) {
      const decision = await inTrace(trace, 'process alerts.v1');
      await collector.find(
        'the write',
        ({ name, links, parent }) =>
          name === 'write alerts' && (parent === decision.id || links.some(({ id }) => id === decision.id)),
      );
      expect(countOf(trace, 'process alerts.v1')).toBe(1);
    }
  });

  test('that comes with a broken header begins a trace', async () => {
    const { status } = await service.send(
      source,
      { title: 'broken' },
      { traceparent: `00-${'x'.repeat(9000)}` },
    );
    expect(status).toBe(200);
  });
});

describe('a block', () => {
  test('is followed from the log over its load and the computation to the answer that shows it', async () => {
    const sent = await ingest(BLOCK);
    const load = await inTrace(sent.trace, 'process chain.blocks.v1');
    const { number } = JSON.parse(BLOCK);
    expect(load).toMatchObject({
      parent: sent.id,
      attributes: { 'chain_metrics.chain': 'moonbeam', 'chain_metrics.block.lowest': Number(number) },
    });
    const round = await inTrace(sent.trace, 'compute round');
    expect(round.parent).toBe(load.id);
    await inTrace(sent.trace, 'compute daily_tps');
    const answered = await service.app.inject({ url: '/api/daily-tps?chain=moonbeam&access_token=secret' });
    expect(answered.statusCode).toBe(401);
    const url = '/api/daily-tps?chain=moonbeam&start_date=2020-01-01&end_date=2030-01-01';
    expect((await service.app.inject({ url })).json()).toHaveLength(1);
    await collector.find('the answer', ({ name, parent }) => name === 'GET /api/daily-tps' && parent === '');
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
  });

  test('is followed over the jobs that compute its windows', async () => {
    const { config, runtime } = service.pipeline;
    const { clock } = runtime;
    const queue = new EmbeddedQueue({ attempts: 1, backoffMs: 1 });
    const shared = { ...runtime, queue, keyValue: new EmbeddedKeyValue(clock) };
    const process = async () =>
      new Aggregator({
        runtime: shared,
        numbers: await runtime.openSequence(async () => 0n),
        ...aggregatorLimits(config),
        logger: openLogger({ LOG_LEVEL: 'silent' }),
        metrics: [chainHour],
      });
    const computing = await process();
    await computing.start();
    const rebuild = () => computing.rebuild([chainHour], '2025-07-01', '2025-08-01');
    expect(await inSpan('rebuild', { causes: [] }, rebuild)).toBe(1);
    const order = await collector.find('the rebuild', ({ name }) => name === 'rebuild');
    const window = await inTrace(order.trace, 'compute chain_hour');
    expect(window.parent).toBe(order.id);
    computing.stop();
    await queue.close();
  });

  test('of a followed source begins its trace where it is fetched', async () => {
    const blocks = recordedBlocks('polkadot');
    await using sidecar = await new FakeSidecar([...blocks.values()]).listen();
    const stop = new AbortController();
    const { pipeline } = service;
    const from = sidecar.finalized;
    const options = { url: sidecar.url, chain: 'polkadot', pollMs: 10, concurrency: 1, from };
    const follower = await SourceFollower.open(options, pipeline.config, stop.signal);
    const running = follower.run(ingestTarget(new LocalClient(pipeline)), () => undefined);
    const load = await collector.find(
      'the block is loaded',
      ({ attributes }) => attributes['chain_metrics.block.highest'] === from,
    );
    stop.abort();
    await running.catch(() => undefined);
    const follow = await inTrace(load.trace, 'follow chain');
    const fetch = await inTrace(load.trace, 'fetch blocks');
    const sent = await inTrace(load.trace, 'send chain.blocks.v1');
    expect([follow.parent, fetch.parent, sent.parent, load.parent]).toEqual([
      '',
      follow.id,
      follow.id,
      sent.id,
    ]);
  });

  test('leaves no trace of what nobody asked for', async () => {
    const known = collector.spans.length;
    await service.app.inject({ url: '/health/ready' });
    await service.app.inject({ url: '/metrics' });
    await ingest(BLOCK);
    const names = collector.spans.slice(known).map(({ name }) => name);
    expect(names.filter((name) => /^GET \/(health|metrics)/.test(name))).toEqual([]);
    // Every statement is part of something: none begins a trace.
    const orphans = collector.spans.filter(({ parent, kind }) => parent === '' && kind === 3);
    expect(orphans.map(({ name }) => name)).toEqual([]);
  });
});

test('lines of the log name the trace that they are part of', () => {
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', LOGGING], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const lines = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const line = (text: string) => lines.find(({ msg }) => msg === text);
  expect(line('in')).toMatchObject({
    trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  expect(line('out')).toBeDefined();
  expect(line('out')).not.toHaveProperty('trace_id');
});

const FROM = new URL(`file://${ROOT}`).href;
const LOGGING = `
  const { openLogger } = await import('${FROM}infra/logger.ts');
  const { startTracing } = await import('${FROM}infra/tracing/start-tracing.ts');
  const { inSpan } = await import('${FROM}infra/tracing/spans.ts');
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:1';
  await startTracing({ version: '1', roles: ['serve'] }, openLogger({ LOG_LEVEL: 'silent' }));
  const logger = openLogger({ LOG_LEVEL: 'info' });
  await inSpan('work', {}, async () => logger.info('in'));
  logger.info('out');
  process.exit();
`;
