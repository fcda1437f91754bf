import type { Readable } from 'node:stream';
import type { ReplayOrder, ReplayResult } from '../../aggregate/alerts/processor/replay.ts';
import type { ComputeProgress } from '../../aggregate/runner/aggregator.ts';
import { readCoverage, readStatus } from '../../aggregate/status/status.ts';
import { raw, sql } from '../../infra/clickhouse/sql.ts';
import { sequenceAt } from '../../infra/coordination/sequence.ts';
import { TOPICS } from '../../ingest/loader.ts';
import {
  type DeadLetterRequest,
  type DeadLetterResult,
  handleDeadLetterRequest,
} from '../../ingest/log/dead-letter-requests.ts';
import type { IngestSummary } from '../../ingest/log/publish.ts';
import { blockSequenceSql } from '../../ingest/raw/ordering.ts';
import { deadLetters, refusedFacts } from '../../ingest/raw/tables.ts';
import { missingHeights } from '../../ingest/sources/heights.ts';
import { findChain } from '../../ingest/sources/open-source.ts';
import type { Pipeline } from '../compose.ts';
import { carryOut, type UsersAnswer, type UsersOrder } from '../identity/accounts/operator.ts';
import { exportStatement } from '../metrics/export.ts';
import { findMetrics } from '../metrics/metric-names.ts';
import type {
  ExportRequest,
  IngestReport,
  MissingRequest,
  Operator,
  RebuildRequest,
  Rebuilt,
  Source,
} from './operator.ts';

const PROGRESS_MS = 200;
const REASONS_SHOWN = 5;
/** Ranges of missing heights in one answer; who fills them asks again for the rest. */
const MISSING_RANGES = 10_000;

/** Does the work in this process, on an engine that it owns. */
export class LocalOperator implements Operator {
  readonly place: string;
  readonly #engine: Pipeline;

  constructor(engine: Pipeline) {
    this.#engine = engine;
    this.place = engine.runtime.location;
  }

  hold<T>(work: () => Promise<T>): Promise<T> {
    return this.#engine.aggregator.pauseCompute(work);
  }

  async ingest(source: Source, onProgress: (soFar: IngestSummary) => void): Promise<IngestReport> {
    const { runtime } = this.#engine;
    if (source.chain !== undefined) findChain(this.#engine.registry, source.chain);
    const started = runtime.clock.now();
    const summary = await this.#engine.ingest(source.bytes, {
      name: source.name,
      onProgress,
      ...(source.chain === undefined ? {} : { chain: source.chain }),
    });
    // What is refused may be told only after it was loaded.
    await this.#engine.waitUntilLoaded();
    return this.#report(source.name, started, summary);
  }

  async waitUntilComputed(onProgress: (progress: ComputeProgress) => void): Promise<void> {
    await this.#watched(onProgress, () => this.#engine.waitUntilComputed());
  }

  status() {
    return readStatus(this.#engine.runtime, this.#engine.aggregator);
  }

  coverage(of: { relay_chain?: string; chain?: string }) {
    return readCoverage(this.#engine.runtime.store, this.#engine.registry, of);
  }

  missing({ chain, from, to }: MissingRequest) {
    const { relay_chain, name } = findChain(this.#engine.registry, chain);
    return missingHeights(
      this.#engine.runtime.store,
      { relay_chain, chain: name },
      { from, to },
      MISSING_RANGES,
    );
  }

  async rebuild(
    { metrics, from, until }: RebuildRequest,
    onProgress: (progress: ComputeProgress) => void,
  ): Promise<Rebuilt> {
    const found = findMetrics(metrics);
    const windows = await this.#watched(onProgress, () =>
      this.#engine.aggregator.rebuild(found, from, until),
    );
    return { metrics: found.map((metric) => metric.name), windows };
  }

  async export(request: ExportRequest): Promise<Readable> {
    const { statement, format } = exportStatement(request, this.#engine.registry);
    return this.#engine.runtime.store.stream(statement, format);
  }

  async replayAlerts(order: ReplayOrder): Promise<readonly ReplayResult[]> {
    return (await this.#engine.alerts()).replay(order);
  }

  async deadLetters(order: DeadLetterRequest): Promise<DeadLetterResult> {
    const { runtime, registry, config } = this.#engine;
    const answer = await handleDeadLetterRequest(runtime, registry, config.DEAD_LETTER_BYTES_MAX, order);
    if (order.action === 'retry') await this.#engine.waitUntilComputed();
    return answer;
  }

  async users(order: UsersOrder): Promise<UsersAnswer> {
    return carryOut(this.#engine.accounts(), order);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  async #watched<T>(onProgress: (progress: ComputeProgress) => void, work: () => Promise<T>): Promise<T> {
    const watch = setInterval(() => onProgress(this.#engine.aggregator.progress), PROGRESS_MS);
    try {
      return await work();
    } finally {
      clearInterval(watch);
    }
  }

  /**
   * Some lines are refused only when they are loaded, after they were counted as blocks or snapshots: what was
   * refused is read back from where it is kept.
   */
  async #report(name: string, started: number, summary: IngestSummary): Promise<IngestReport> {
    const { store } = this.#engine.runtime;
    const refused = await store.rows<{ topic: string; reason: string; lines: number }>(
      sql`SELECT topic, reason, count() AS lines FROM ${deadLetters} FINAL
        WHERE origin = ${name} AND version >= ${started} GROUP BY topic, reason ORDER BY lines DESC, reason`,
    );
    const [facts] = await store.rows<{ total: number }>(
      sql`SELECT count() AS total FROM ${refusedFacts} FINAL
        WHERE ${raw(blockSequenceSql('rank'))} >= ${sequenceAt(started)}`,
    );
    const lines = (topic?: string) =>
      refused
        .filter((row) => topic === undefined || row.topic === topic)
        .reduce((sum, row) => sum + row.lines, 0);
    return {
      lines: summary.lines,
      blocks: summary.blocks - Math.max(0, lines(TOPICS.blocks) - summary.refused_lines),
      snapshots: summary.snapshots - lines(TOPICS.snapshots),
      refused_lines: lines(),
      refused_facts: facts?.total ?? 0,
      reasons: refused.slice(0, REASONS_SHOWN).map(({ reason, lines }) => ({ reason, lines })),
    };
  }
}
