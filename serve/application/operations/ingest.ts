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

/** Kinds of reasons in one report; further ones are counted. */
const REASONS_MAX = 100;

/** The result of ingesting sources. Blocks and snapshots are those that were stored. */
export interface IngestReport extends IngestSummary {
  readonly refused_facts: number;
  readonly reasons_total: number;
  /** Why lines were refused, the most frequent reasons first; rare ones of many are left out. */
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[];
  /** Files that seem to be of another chain than they were taken for. */
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

/** Loads the body of the call; the metrics that depend on it are computed afterwards. */
export const ingest = operation<IngestSummary>()({
  /**
   * `name` is the path of the source; `chain` that of its bare blocks, when the name does not tell; `firstLine` as
   * publishing takes it; `demo` says that this is part of the demo data.
   */
  input: z.object({
    name: z.string(),
    chain: z.string().optional(),
    firstLine: z.int().min(1).optional(),
    demo,
  }),
  async run(pipeline, { name, firstLine, ...of }, { body, ...context }): Promise<IngestReport> {
    const source = { name, bytes: body, ...(firstLine === undefined ? {} : { firstLine }) };
    return load(pipeline, [source], of, context);
  },
});

/** Loads files one after the other; `chain` is that of the bare blocks of all of them. */
export const ingestFiles = operation<IngestSummary>()({
  input: z.object({ chain: z.string().optional(), demo }),
  async run(pipeline, of, { body, files, ...context }): Promise<IngestReport> {
    return load(pipeline, files ?? unpackFiles(body), of, context);
  },
});

async function load(
  pipeline: Pipeline,
  sources: OpenSources,
  { chain, demo }: { readonly chain?: string | undefined; readonly demo: boolean },
  { onProgress, signal }: Pick<CallContext<IngestSummary>, 'onProgress' | 'signal'>,
): Promise<IngestReport> {
  const { store, location } = pipeline.runtime;
  // Only the embedded profile makes demo data; the log of the other one takes blocks while its store does not answer.
  if (!demo && pipeline.config.PROFILE === 'embedded' && (await readDemoMark(store)) !== null)
    throw demoRefusal(location);
  if (chain !== undefined) findChain(pipeline.registry, chain);
  const run = randomUUID();
  const found: ForeignAddress[] = [];
  const onForeignAddress = (one: ForeignAddress) => found.push(one);
  const summary = await pipeline.ingestAll(ofChain(sources, chain), { run, onProgress, onForeignAddress });
  // Some lines are refused only when they are loaded, maybe by other processes, and maybe by none.
  await pipeline.waitUntilLoaded(signal);
  const foreign_addresses = await newlyForeign(store, run, found);
  return { ...(await reportOf(store, run, summary)), foreign_addresses };
}

/** A source that prints one prefix for all chains is told of once, and not with every file of it. */
async function newlyForeign(
  store: Store,
  run: string,
  found: readonly ForeignAddress[],
): Promise<ForeignAddresses[]> {
  const kinds = [...Map.groupBy(found, ({ chain, prefix }) => `${chain.name} ${prefix}`).values()];
  const told = kinds.map(async ([first, ...others]): Promise<ForeignAddresses[]> => {
    const { file, chain, prefix } = first as ForeignAddress;
    const of = { relay_chain: chain.relay_chain, chain: chain.name };
    // What is loaded is loaded: where it cannot be told whether this is new, it is told.
    const before = await readPrintedPrefixes(store, { ...of, notOfRun: run }).catch(
      ignore('ingest.prefixes', []),
    );
    if (before.some((one) => one.prefix === prefix)) return [];
    const files = { files: 1 + others.length, first_file: file };
    return [{ ...of, prefix, own_prefix: chain.ss58_prefix, ...files }];
  });
  return (await Promise.all(told)).flat();
}

async function* ofChain(sources: OpenSources, chain: string | undefined): AsyncGenerator<OpenSource> {
  for await (const source of sources) yield chain === undefined ? source : { ...source, chain };
}

/** Lines that were refused by the loader have been counted as blocks or snapshots before: the store corrects that. */
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
