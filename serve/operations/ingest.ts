import { z } from 'zod';
import { raw, sql } from '../../infra/clickhouse/sql.ts';
import { sequenceAt } from '../../infra/coordination/sequence.ts';
import type { Store } from '../../infra/ports.ts';
import type { IngestSummary } from '../../ingest/log/publish.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import { blockSequenceSql } from '../../ingest/raw/ordering.ts';
import { deadLetters, refusedFacts } from '../../ingest/raw/tables.ts';
import { findChain } from '../../ingest/sources/open-source.ts';
import { operation } from './operation.ts';

/** The result of ingesting one source. Blocks and snapshots are those that were stored. */
export interface IngestReport extends IngestSummary {
  readonly refused_facts: number;
  /** Why lines were refused, the most frequent reasons first. */
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[];
}

const REASONS_SHOWN = 5;

/** Loads the body of the call; the metrics that depend on it are computed afterwards. */
export const ingest = operation<IngestSummary>()({
  /** `name` is the path of the source; `chain` that of its bare blocks, when the name does not tell. */
  input: z.object({ name: z.string(), chain: z.string().optional() }),
  async run(pipeline, { name, chain }, { body, onProgress }): Promise<IngestReport> {
    if (chain !== undefined) findChain(pipeline.registry, chain);
    const started = pipeline.runtime.clock.now();
    const summary = await pipeline.ingest(body, {
      name,
      onProgress,
      ...(chain === undefined ? {} : { chain }),
    });
    // Some lines are refused only when they are loaded.
    await pipeline.waitUntilLoaded();
    return reportOf(pipeline.runtime.store, name, started, summary);
  },
});

/** Lines that were refused by the loader have been counted as blocks or snapshots before: the store corrects that. */
async function reportOf(
  store: Store,
  name: string,
  started: number,
  summary: IngestSummary,
): Promise<IngestReport> {
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
