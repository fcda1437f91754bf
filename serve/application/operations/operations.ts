import { once } from 'node:events';
import { z } from 'zod';
import { ALERTS_TOPIC } from '../../../aggregate/alerts/model/event.ts';
import { replayOrder } from '../../../aggregate/alerts/processor/replay.ts';
import type { ComputeProgress } from '../../../aggregate/runner/aggregator.ts';
import { readCoverage, readStatus } from '../../../aggregate/status/status.ts';
import { isoDay } from '../../../infra/days.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import { findChain } from '../../../ingest/chains/registry.ts';
import {
  deadLetterRequest,
  handleDeadLetterRequest,
} from '../../../ingest/dead-letters/dead-letter-requests.ts';
import type { RetriedLetter } from '../../../ingest/dead-letters/dead-letter-retry.ts';
import { DEAD_LETTER_BYTES_MAX } from '../../../ingest/dead-letters/dead-letters.ts';
import { SNAPSHOT_KINDS } from '../../../ingest/decode/snapshot.ts';
import { countRefusedFacts, listRefusedFacts } from '../../../ingest/raw/refused-facts.ts';
import {
  readSkippedSnapshots,
  readStoredSnapshots,
  recordSkippedSnapshots,
} from '../../../ingest/raw/skipped-snapshots.ts';
import { missingHeights } from '../../../ingest/sources/heights.ts';
import { noteSkippedHeights, readSkippedHeights } from '../../../ingest/sources/skipped-heights.ts';
import { storedDays } from '../../../ingest/sources/values/stored-days.ts';
import { usersRequest } from '../../accounts/users-request.ts';
import { applicationsRequest, handleApplicationsRequest } from '../../identity/oauth/application-requests.ts';
import { handleSigningKeysRequest, signingKeysRequest } from '../../identity/openid/signing-key-requests.ts';
import { exportRequest, exportStatement, hasDaysBefore } from '../../metrics/export.ts';
import { pendingRows } from '../../metrics/freshness.ts';
import { findMetrics } from '../../metrics/metric-names.ts';
import type { Pipeline } from '../compose/compose.ts';
import { diagnoseProcess } from '../doctor/process.ts';
import { backup } from './backup.ts';
import { check } from './check.ts';
import { ingest, ingestFiles } from './ingest.ts';
import { type Operation, operation } from './operation.ts';
import { rawOperations } from './raw.ts';
import { runSql } from './sql.ts';

const NOTHING = z.object({});
const height = z.int().min(0);

const PROGRESS_MS = 200;
/** Maximum of stored skipped heights of a chain. A source that fails at more heights is unusable. */
const SKIPPED_HEIGHTS_MAX = 10_000;

/** Ranges of missing heights in one answer; the caller asks again for the rest. */
const MISSING_RANGES_MAX = 10_000;
/** Ranges of skipped snapshots of each chain. */
const SKIPPED_RANGES_MAX = 1000;

/** Every operation of an operator, by its name. A command calls them; `client.ts` says where they run. */
export const operations = {
  ingest,
  ingestFiles,
  check,
  backup,

  /** Damaged files that were found until now. */
  damage: operation()({ input: NOTHING, run: async ({ runtime }) => runtime.damage.list() }),

  /** The findings of this process about its settings and store. */
  diagnose: operation()({
    input: NOTHING,
    run: (pipeline) => diagnoseProcess(pipeline, process.env),
  }),

  status: operation()({
    input: NOTHING,
    run: ({ runtime, aggregator }) => readStatus(runtime, aggregator),
  }),

  coverage: operation()({
    input: z.object({ relay_chain: z.string().optional(), chain: z.string().optional() }),
    run: ({ runtime, registry }, { relay_chain, chain }) =>
      readCoverage(runtime.store, registry, {
        ...(relay_chain === undefined ? {} : { relay_chain }),
        ...(chain === undefined ? {} : { chain }),
      }),
  }),

  /** Heights of a range that are not stored; first those in gaps between stored heights. */
  missingHeights: operation()({
    input: z.object({
      chain: z.string(),
      from: height,
      to: height,
      withoutSkipped: z.boolean().default(false),
    }),
    run: ({ runtime, registry }, { chain, from, to, withoutSkipped }) =>
      missingHeights(runtime.store, placeOf(registry, chain), { from, to }, MISSING_RANGES_MAX, {
        withoutSkipped,
      }),
  }),

  /** Heights of a chain that its sources did not serve. */
  skippedHeights: operation()({
    input: z.object({ chain: z.string() }),
    run: ({ runtime, registry }, { chain }) => readSkippedHeights(runtime.store, placeOf(registry, chain)),
  }),

  /** Records heights that could not be fetched. */
  noteSkippedHeights: operation()({
    input: z.object({
      chain: z.string(),
      heights: z.array(z.object({ number: height, reason: z.string() })),
    }),
    run: async ({ runtime, registry }, { chain, heights }) => {
      const place = placeOf(registry, chain);
      await noteSkippedHeights(runtime, place, heights, SKIPPED_HEIGHTS_MAX);
      return {};
    },
  }),

  /** The stored kinds of snapshot of a chain by day; both days are inclusive. */
  storedSnapshots: operation()({
    input: z.object({ chain: z.string(), from: z.iso.date(), to: z.iso.date() }),
    run: ({ runtime, registry }, { chain, ...days }) =>
      readStoredSnapshots(runtime.store, placeOf(registry, chain), days),
  }),

  /** Snapshots that nodes could not provide, of one chain or of all. */
  skippedSnapshots: operation()({
    input: z.object({ chain: z.string().optional() }),
    run: ({ runtime, registry }, { chain }) =>
      readSkippedSnapshots(
        runtime.store,
        chain === undefined ? undefined : placeOf(registry, chain),
        SKIPPED_RANGES_MAX,
      ),
  }),

  /** Records snapshots that a node could not provide. */
  noteSkippedSnapshots: operation()({
    input: z.object({
      chain: z.string(),
      skipped: z.array(z.object({ day: z.iso.date(), kind: z.enum(SNAPSHOT_KINDS), reason: z.string() })),
    }),
    run: async ({ runtime, registry }, { chain, skipped }) => {
      await recordSkippedSnapshots(runtime, placeOf(registry, chain), skipped);
      return {};
    },
  }),

  /** Days of a range that have a value of a series of prices or of locked value. */
  storedDays: operation()({
    input: z.object({
      kind: z.enum(['price', 'tvl']),
      relay_chain: z.string(),
      chain: z.string(),
      symbol: z.string(),
      from: z.iso.date(),
      to: z.iso.date(),
    }),
    run: ({ runtime }, request) => storedDays(runtime.store, request),
  }),

  /** Pauses computation until the caller hangs up, so that days which several files change are computed once. */
  pauseCompute: operation<object>()({
    input: NOTHING,
    run: ({ aggregator }, _input, { onProgress, signal }) =>
      aggregator.pauseComputation(async () => {
        onProgress({});
        if (!signal.aborted) await once(signal, 'abort');
        return {};
      }),
  }),

  /** Resolves if all data that were ingested before are computed. Returns the failed metrics. */
  waitUntilComputed: operation<ComputeProgress>()({
    input: NOTHING,
    run: async (pipeline, _input, { onProgress }) => ({
      failed_metrics: await withProgress(pipeline, onProgress, () => pipeline.settled()),
    }),
  }),

  rebuild: operation<ComputeProgress>()({
    /** `metrics` by any of their names; all if empty. `until` is exclusive. */
    input: z.object({ metrics: z.array(z.string()), from: z.iso.date(), until: z.iso.date() }),
    run: async (pipeline, { metrics: names, from, until }, { onProgress }) => {
      const metrics = findMetrics(names);
      const windows = await withProgress(pipeline, onProgress, () =>
        pipeline.aggregator.rebuild(metrics, from, until),
      );
      return { metrics: metrics.map((metric) => metric.name), windows };
    },
  }),

  /** All rows of a metric, as a stream of bytes in the format of the request. */
  export: operation()({
    isStream: true,
    input: exportRequest,
    run: async ({ runtime, registry }, request) => {
      const { statement, format } = exportStatement(request, registry, isoDay(runtime.clock.now()));
      return runtime.store.stream(statement, format);
    },
  }),

  /**
   * The data that the rows of an export lack. Call it before the export, so that it never reports too little. `begins` is the
   * first day of the path, if earlier days are stored and the request has no dates.
   */
  pendingRows: operation()({
    input: exportRequest,
    run: async ({ runtime, registry, aggregator }, request) => {
      const { metric, query, floor } = exportStatement(request, registry, isoDay(runtime.clock.now()));
      const isCut =
        floor !== undefined && !query.isDated && (await hasDaysBefore(runtime.store, floor, query));
      const pending = pendingRows(await aggregator.pending(), metric, query);
      return { pending, begins: isCut ? floor : null };
    },
  }),

  /** The rows of an operator's query over canonical rows, as a stream of bytes. */
  sql: runSql,

  ...rawOperations,

  users: operation()({
    input: usersRequest,
    run: async (pipeline, request) => {
      // Imported here, because only this operation needs the libraries for passwords and wallets.
      const { handleUsersRequest } = await import('../../accounts/operator.ts');
      return handleUsersRequest(pipeline.accounts(), request);
    },
  }),

  applications: operation()({
    input: applicationsRequest,
    run: async (pipeline, request) => handleApplicationsRequest(pipeline.accounts(), request),
  }),

  signingKeys: operation()({
    input: signingKeysRequest,
    run: async (pipeline, request) => handleSigningKeysRequest(pipeline.accounts(), request),
  }),

  deadLetters: operation()({
    input: deadLetterRequest,
    run: async (pipeline, request) => {
      const { runtime, registry, waitUntilLoaded } = pipeline;
      const redeliver = {
        [ALERTS_TOPIC]: async (letter: RetriedLetter) => (await pipeline.alerts()).redeliver(letter),
      };
      const dependencies = {
        runtime,
        registry,
        deadLetterBytes: DEAD_LETTER_BYTES_MAX,
        waitUntilLoaded,
        redeliver,
      };
      const result = await handleDeadLetterRequest(dependencies, request);
      if (request.action === 'retry') await pipeline.waitUntilComputed();
      return result;
    },
  }),

  /** Refused facts of stored blocks, and their total number. */
  refusedFacts: operation()({
    input: z.object({ chain: z.string().optional(), limit: z.int().min(1).max(10_000) }),
    run: async ({ runtime: { store }, registry }, { chain, limit }) => {
      const place = chain === undefined ? undefined : placeOf(registry, chain);
      const [total, facts] = await Promise.all([
        countRefusedFacts(store),
        listRefusedFacts(store, place, limit),
      ]);
      return { total, facts };
    },
  }),

  replayAlerts: operation()({
    input: replayOrder,
    run: async (pipeline, order) => (await pipeline.alerts()).replay(order),
  }),
} as const;

function placeOf(registry: Registry, name: string) {
  const { relay_chain, name: chain } = findChain(registry, name);
  return { relay_chain, chain };
}

type Operations = typeof operations;
export type OperationName = keyof Operations;

type InputSchemaOf<Name extends OperationName> =
  Operations[Name] extends Operation<infer Input, never, unknown> ? Input : never;
export type InputOf<Name extends OperationName> = z.input<Operations[Name]['input'] & InputSchemaOf<Name>>;
export type ResultOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]['run']>>;
export type ProgressOf<Name extends OperationName> = Parameters<
  Parameters<Operations[Name]['run']>[2]['onProgress']
>[0];

/** Reports the progress of the computation while `work` runs. */
async function withProgress<Result>(
  { aggregator }: Pipeline,
  onProgress: (progress: ComputeProgress) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const timer = setInterval(() => onProgress(aggregator.progress), PROGRESS_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
