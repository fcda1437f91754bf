import { chunkBySize } from '../../infra/chunk.ts';
import { lowestOf } from '../../infra/coordination/sequence.ts';
import type { Numbers, Store } from '../../infra/ports.ts';
import { chunkForIn, ident, sql } from '../../infra/sql.ts';
import { table } from '../../infra/table.ts';
import { relayOf, type Window } from '../../ingest/raw/canonical.ts';
import { chains } from '../../ingest/raw/tables.ts';
import {
  dependencies,
  type EntityId,
  type EntityMetric,
  hasEntities,
  type MaterializedMetric,
} from '../metric.ts';
import type { Claims } from './claims.ts';
import { writeRows } from './write-rows.ts';

export const foldedEntities = table({
  name: 'folded_entities',
  doc: 'Per metric and relay chain, the version of the rows up to which its entities are computed.',
  columns: {
    metric: 'LowCardinality(String)',
    relay_chain: 'LowCardinality(String)',
    up_to: 'UInt64',
    // A hash of the tokens, decimals and prefixes of the chains that the rows were computed with.
    registry: 'String',
    version: 'UInt64',
  },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['metric', 'relay_chain'],
});

/** Most facts of one piece, to bound the memory of a fold. A single entity may have more. */
const PIECE_FACTS_MAX = 20_000;
/** Each entity counts as this many extra facts, to bound the entities of a piece. */
const ENTITY_FACTS = 10;

interface Progress {
  /** The entities include all rows up to this version; 0 before the first computation. */
  readonly upTo: bigint;
  readonly registry: string;
}

interface RefoldOptions {
  readonly store: Store;
  readonly claims: Pick<Claims, 'visibleUpTo'>;
  /** True for tables whose rows have versions. */
  readonly isWritten: (table: string) => boolean;
}

/**
 * Computes the entities of a metric that changed since its last computation, and replaces all rows of each. The result
 * `since` is the version above which this call looked for changes. Progress is stored last, so an interrupted
 * computation is repeated. Pass the previous `since` if another process may have computed the window meanwhile.
 */
export async function computeChangedEntities(
  { store, claims, isWritten }: RefoldOptions,
  {
    metric,
    window,
    since,
  }: { readonly metric: EntityMetric; readonly window: Window; readonly since?: bigint },
  writing: { readonly version: bigint; readonly writesEqualRows: boolean },
): Promise<{ readonly isChanged: boolean; readonly since: bigint }> {
  const relay_chain = relayOf(window);
  const { upTo: progressUpTo, registry } = await readProgress(store, metric.name, relay_chain);
  const after = lowestOf(since === undefined ? [] : [since], progressUpTo);
  const upTo = await claims.visibleUpTo(writing.version, [...dependencies(metric)].filter(isWritten));
  const pieces = await readChanged(store, metric, relay_chain, after);
  for (const entities of pieces) await writeRows(store, { metric, window, entities }, writing);
  if (pieces.length === 0) return { isChanged: false, since: after };
  const progress = { up_to: upTo.toString(), registry, version: writing.version.toString() };
  await store.insert(foldedEntities, [{ metric: metric.name, relay_chain, ...progress }]);
  return { isChanged: true, since: after };
}

/** Resets the progress of these metrics, so that all entities are computed again. */
export async function resetEntities(
  { store, numbers }: { readonly store: Store; readonly numbers: Numbers },
  metrics: readonly MaterializedMetric[],
  relays: readonly string[],
): Promise<void> {
  const names = metrics.filter(hasEntities).map(({ name }) => name);
  if (names.length === 0) return;
  const version = (await numbers.take(1)).toString();
  await store.insert(
    foldedEntities,
    names.flatMap((metric) =>
      relays.map((relay_chain) => ({ metric, relay_chain, up_to: '0', registry: '', version })),
    ),
  );
}

/** A changed registry resets the progress, because it changes all entities of a relay chain. */
async function readProgress(store: Store, metric: string, relayChain: string): Promise<Progress> {
  const [row] = await store.rows<{ up_to: string; registry: string; registry_then: string }>(
    sql`SELECT toString(argMax(up_to, folded.version)) AS up_to, argMax(folded.registry, folded.version) AS registry_then,
        (SELECT hex(groupBitXor(sipHash64(chain, token, decimals, prefix))) FROM ${chains} FINAL
          WHERE relay_chain = ${relayChain}) AS registry
      FROM ${foldedEntities} AS folded WHERE metric = ${metric} AND relay_chain = ${relayChain}`,
  );
  const { up_to = '0', registry = '', registry_then = '' } = row ?? {};
  return { upTo: registry_then === registry ? BigInt(up_to) : 0n, registry };
}

/** The entities that rows above a version change, in pieces of similar size. */
async function readChanged(
  store: Store,
  metric: EntityMetric,
  relayChain: string,
  after: bigint,
): Promise<EntityId[][]> {
  const { table } = metric;
  const { changed, sizes, column } = metric.entities;
  const fromRows = changed(relayChain, after);
  // From version 0, includes stored entities that no row names any more, so that their rows are deleted.
  const stored = sql`SELECT ${ident(column)} AS entity FROM ${table} WHERE relay_chain = ${relayChain}`;
  const all = after > 0n ? fromRows : sql`${fromRows} UNION DISTINCT ${stored}`;
  const rows = await store.rows<{ entity: EntityId }>(sql`SELECT entity FROM (${all}) ORDER BY entity`);
  const pieces: EntityId[][] = [];
  for (const chunk of chunkForIn(rows.map(({ entity }) => entity))) {
    // A single entity is one piece of any size.
    const sizesOfChunk =
      sizes && chunk.length > 1
        ? await store.rows<{ entity: EntityId; facts: number }>(sizes(relayChain, chunk))
        : [];
    const facts = new Map(sizesOfChunk.map((row) => [row.entity, row.facts]));
    pieces.push(...chunkBySize(chunk, PIECE_FACTS_MAX, (entity) => (facts.get(entity) ?? 0) + ENTITY_FACTS));
  }
  return pieces;
}
