import { SpanKind, trace } from '@opentelemetry/api';
import { Counter, Histogram } from 'prom-client';
import { ProductError } from '../errors.ts';
import { messageSize } from '../message-size.ts';
import type { Lane, Log, Runtime, StagedBatch, Store } from '../ports.ts';
import { inSpan } from '../tracing/spans.ts';

/** Histogram buckets for work that takes from a millisecond to minutes. */
export const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

/** Prometheus metrics of the store and the log. */
export const createPortMetrics = () => ({
  statementSeconds: new Histogram({
    name: 'chain_metrics_store_statement_duration_seconds',
    help: 'Duration of store statements, including the wait for a connection, by lane (work, readers, probes) and kind.',
    labelNames: ['lane', 'kind'],
    buckets: DURATION_BUCKETS,
    registers: [],
  }),
  statementErrors: new Counter({
    name: 'chain_metrics_store_errors_total',
    help: 'Store statements that failed, by lane and error code. Cancelled statements are not counted.',
    labelNames: ['lane', 'code'],
    registers: [],
  }),
  publishSeconds: new Histogram({
    name: 'chain_metrics_log_publish_duration_seconds',
    help: 'Duration of publishing a batch, until the log acknowledges or rejects it, by topic.',
    labelNames: ['topic'],
    buckets: DURATION_BUCKETS,
    registers: [],
  }),
  published: new Counter({
    name: 'chain_metrics_log_published_messages_total',
    help: 'Messages that the log acknowledged, by topic.',
    labelNames: ['topic'],
    registers: [],
  }),
  publishedBytes: new Counter({
    name: 'chain_metrics_log_published_bytes_total',
    help: 'Bytes of the values of acknowledged messages, by topic.',
    labelNames: ['topic'],
    registers: [],
  }),
  publishErrors: new Counter({
    name: 'chain_metrics_log_publish_errors_total',
    help: 'Batches that could not be published, by topic.',
    labelNames: ['topic'],
    registers: [],
  }),
});

type PortMetrics = ReturnType<typeof createPortMetrics>;

/** Wraps the ports: counts statements and messages, and adds a span for each statement of traced work. */
export const instrumentRuntime = (runtime: Runtime, metrics: PortMetrics): Runtime => ({
  ...runtime,
  store: instrumentStore(runtime.store, metrics),
  log: instrumentLog(runtime.log, metrics),
});

function instrumentStore(store: Store, { statementSeconds, statementErrors }: PortMetrics): Store {
  const timed = async <T>(
    kind: string,
    work: () => Promise<T>,
    { lane = 'work', signal, table }: StatementFacts = {},
  ) => {
    const began = performance.now();
    try {
      return await (trace.getActiveSpan()?.isRecording() ? asSpan(kind, table, work) : work());
    } catch (error) {
      if (!signal?.aborted) statementErrors.inc({ lane, code: codeOf(error) });
      throw error;
    } finally {
      statementSeconds.observe({ lane, kind }, (performance.now() - began) / 1000);
    }
  };
  const instrumentBatch = (batch: StagedBatch): StagedBatch => ({
    ...batch,
    commit: (firstSequence) => timed('load', () => batch.commit(firstSequence), batch),
  });
  return {
    rows: (statement, options) => timed('query', () => store.rows(statement, options), options),
    bytes: (statement, format, options) =>
      timed('query', () => store.bytes(statement, format, options), options),
    stream: (statement, format, limits) => timed('export', () => store.stream(statement, format, limits)),
    split: (...given) => timed('export', () => store.split(...given)),
    run: (statement) => timed('command', () => store.run(statement)),
    insert: (table, rows) => timed('insert', () => store.insert(table, rows), { table: table.name }),
    insertLines: (table, columns, lines) =>
      timed('insert', () => store.insertLines(table, columns, lines), { table: table.name }),
    stage: async (table, lines) => instrumentBatch(await store.stage(table, lines)),
    unfinished: async () => (await store.unfinished()).map(instrumentBatch),
    close: () => store.close(),
  };
}

interface StatementFacts {
  readonly lane?: Lane;
  readonly signal?: AbortSignal;
  /** The table that the statement writes to. */
  readonly table?: string;
}

/** The span omits the text of the statement, which may contain input. */
function asSpan<T>(kind: string, table: string | undefined, work: () => Promise<T>): Promise<T> {
  const attributes = {
    'db.system.name': 'clickhouse',
    'db.operation.name': kind,
    ...(table === undefined ? {} : { 'db.collection.name': table }),
  };
  return inSpan(table ? `${kind} ${table}` : kind, { kind: SpanKind.CLIENT, attributes }, work);
}

function instrumentLog(
  log: Log,
  { publishSeconds, published, publishedBytes, publishErrors }: PortMetrics,
): Log {
  return {
    publish: async (topic, messages) => {
      const began = performance.now();
      try {
        await log.publish(topic, messages);
        published.inc({ topic }, messages.length);
        publishedBytes.inc(
          { topic },
          messages.reduce((sum, message) => sum + messageSize(message), 0),
        );
      } catch (error) {
        publishErrors.inc({ topic });
        throw error;
      } finally {
        publishSeconds.observe({ topic }, (performance.now() - began) / 1000);
      }
    },
    consume: (topic, group, handler) => log.consume(topic, group, handler),
    waitUntilConsumed: (topic, group, signal) => log.waitUntilConsumed(topic, group, signal),
    get system() {
      return log.system;
    },
    get messageBytesMax() {
      return log.messageBytesMax;
    },
    deadLetter: (topic, messages) => log.deadLetter(topic, messages),
    readDeadLetters: (topic, offsets) => log.readDeadLetters(topic, offsets),
    lag: () => log.lag(),
    check: () => log.check(),
    close: () => log.close(),
  };
}

const codeOf = (error: unknown): string => (error instanceof ProductError ? error.code : 'other');
