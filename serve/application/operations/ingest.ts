import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ignore } from '../../../infra/ignore.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { findChain } from '../../../ingest/chains/registry.ts';
import { demoRefusal, readDemoMark } from '../../../ingest/demo/mark.ts';
import type { ForeignAddress } from '../../../ingest/log/first-address.ts';
import { TOPICS } from '../../../ingest/log/topics.ts';
import { readPrintedPrefixes } from '../../../ingest/raw/printed-prefixes.ts';
import { countRefusedFacts } from '../../../ingest/raw/refused-facts.ts';
import { deadLetters } from '../../../ingest/raw/tables.ts';
import type { IngestSummary, OpenSource, OpenSources } from '../../../ingest/sources/publish.ts';
import type { Pipeline } from '../compose/compose.ts';
import { unpackFiles } from './files-body.ts';
import { type CallContext, operation } from './operation.ts';

/** Reasons in one report; further reasons are only counted. */
const REASONS_MAX = 100;

/** The result of ingesting sources. Counts stored blocks and snapshots. */
export interface IngestReport extends IngestSummary {
  readonly refused_facts: number;
  readonly reasons_total: number;
  /** At most REASONS_MAX reasons, the most frequent first. */
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[];
  /** Files that may belong to another chain. */
  readonly foreign_addresses: readonly ForeignAddresses[];
}

/** Files whose addresses have a prefix that no address of their chain had before. */
interface ForeignAddresses {
  readonly relay_chain: string;
  readonly chain: string;
  readonly prefix: number;
  readonly own_prefix: number;
  readonly files: number;
  readonly first_file: string;
}

const demo = z.boolean().default(false);

/** Loads the body of the call. Metrics are computed later. */
export const ingest = operation<IngestSummary>()({
  /** `chain` is the chain of bare blocks, for sources whose `name` does not contain it. */
  input: z.object({
    name: z.string(),
    chain: z.string().optional(),
    firstLine: z.int().min(1).optional(),
    demo,
  }),
  async run(pipeline, { name, firstLine, ...options }, { body, ...context }): Promise<IngestReport> {
    const source = { name, bytes: body, ...(firstLine === undefined ? {} : { firstLine }) };
    return load(pipeline, [source], options, context);
  },
});

/** Loads files one after the other. `chain` is the chain of all bare blocks. */
export const ingestFiles = operation<IngestSummary>()({
  input: z.object({ chain: z.string().optional(), demo }),
  async run(pipeline, options, { body, files, ...context }): Promise<IngestReport> {
    return load(pipeline, files ?? unpackFiles(body), options, context);
  },
});

async function load(
  pipeline: Pipeline,
  sources: OpenSources,
  { chain, demo }: { readonly chain?: string | undefined; readonly demo: boolean },
  { onProgress, signal }: Pick<CallContext<IngestSummary>, 'onProgress' | 'signal'>,
): Promise<IngestReport> {
  const { store, location } = pipeline.runtime;
  // Only the embedded profile has demo data. A distributed process must accept blocks while its store is unavailable.
  if (!demo && pipeline.config.PROFILE === 'embedded' && (await readDemoMark(store)) !== null)
    throw demoRefusal(location);
  if (chain !== undefined) findChain(pipeline.registry, chain);
  const run = randomUUID();
  const found: ForeignAddress[] = [];
  const onForeignAddress = (address: ForeignAddress) => found.push(address);
  const summary = await pipeline.ingestAll(ofChain(sources, chain), { run, onProgress, onForeignAddress });
  // The loader, which may be another process, refuses some lines.
  await pipeline.waitUntilLoaded(signal);
  const foreign_addresses = await newForeignAddresses(store, run, found);
  return { ...(await reportOf(store, run, summary)), foreign_addresses };
}

/** Reports a foreign prefix of a chain only in the first run that contains it. */
async function newForeignAddresses(
  store: Store,
  run: string,
  found: readonly ForeignAddress[],
): Promise<ForeignAddresses[]> {
  const kinds = [...Map.groupBy(found, ({ chain, prefix }) => `${chain.name} ${prefix}`).values()];
  const reported = kinds.map(async ([first, ...others]): Promise<ForeignAddresses[]> => {
    const { file, chain, prefix } = first as ForeignAddress;
    const key = { relay_chain: chain.relay_chain, chain: chain.name };
    // The files are loaded already, so a failed query must not fail the call: the prefix is then reported again.
    const before = await readPrintedPrefixes(store, { ...key, notOfRun: run }).catch(
      ignore('ingest.prefixes', []),
    );
    if (before.some((printed) => printed.prefix === prefix)) return [];
    const files = { files: 1 + others.length, first_file: file };
    return [{ ...key, prefix, own_prefix: chain.ss58_prefix, ...files }];
  });
  return (await Promise.all(reported)).flat();
}

async function* ofChain(sources: OpenSources, chain: string | undefined): AsyncGenerator<OpenSource> {
  for await (const source of sources) yield chain === undefined ? source : { ...source, chain };
}

/** The report of a run. Lines that the loader refused do not count as blocks or snapshots. */
async function reportOf(
  store: Store,
  run: string,
  summary: IngestSummary,
): Promise<Omit<IngestReport, 'foreign_addresses'>> {
  const refused = await store.rows<{ topic: string; reason: string; lines: number }>(
    sql`SELECT topic, reason, count() AS lines FROM ${deadLetters} FINAL
      WHERE run = ${run} GROUP BY topic, reason ORDER BY lines DESC, reason`,
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
    refused_facts: await countRefusedFacts(store, run),
    reasons_total: refused.length,
    reasons: refused.slice(0, REASONS_MAX).map(({ reason, lines }) => ({ reason, lines })),
  };
}
