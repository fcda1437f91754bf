import { ident, inParts, type Sql, sql } from '../../infra/clickhouse/sql.ts';
import { table } from '../../infra/clickhouse/table.ts';
import { partsOf } from '../../infra/parts.ts';
import type { Numbers, Store } from '../../infra/ports.ts';
import { ofRelays, relayOf, type Window } from '../../ingest/raw/canonical.ts';
import { chains } from '../../ingest/raw/tables.ts';
import { dependencies, type Entities, type EntityId, type MaterializedMetric } from '../metric.ts';
import { type ComputedWindow, deleteOlderRows, insertRows, readFacts } from './compute.ts';
import type { TableWriters } from './table-writers.ts';

/** How far the entities of a metric are computed. */
export const foldedEntities = table({
  name: 'folded_entities',
  doc: 'Per metric and relay chain, the version of the rows up to which its entities are computed.',
  columns: {
    metric: 'LowCardinality(String)',
    relay_chain: 'LowCardinality(String)',
    up_to: 'UInt64',
    // Of the chains that the rows were made with: their tokens, decimals and prefixes.
    registry: 'String',
    version: 'UInt64',
  },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['metric', 'relay_chain'],
});

/** Facts of one piece: they bound the memory of a fold, unless a single entity has more. */
const PIECE_FACTS_MAX = 20_000;
/** What an entity weighs beside its facts: they bound the entities of a piece. */
const ENTITY_FACTS = 10;

export type EntityMetric = MaterializedMetric & { readonly entities: Entities };

interface Progress {
  /** All rows up to this version are in the entities; 0 before the first computation. */
  readonly upTo: bigint;
  readonly registry: string;
}
export type EntityProgress = (metric: string, relayChain: string) => Progress;

/** Answers that the refolds of a round share; the next round of either lane begins with none. */
export class RoundReads {
  readonly #answers = new Map<string, Promise<unknown>>();

  once<T>(question: string, read: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(question) as Promise<T> | undefined;
    if (known) return known;
    const answer = read();
    this.#answers.set(question, answer);
    // The other refolds do not fail with this one: each asks by itself.
    answer.catch(() => this.#answers.delete(question));
    return answer;
  }
}

interface RefoldOptions {
  readonly store: Store;
  readonly reads: RoundReads;
  readonly numbers: Numbers;
  readonly writers: TableWriters;
  /** Whether the rows of a table have versions. */
  readonly isWritten: (table: string) => boolean;
  /** Is told which entities are written; returns whether the table has no row. */
  readonly beginWriting: (entities: readonly EntityId[]) => boolean;
  readonly progressOf: EntityProgress;
}

/**
 * Computes the entities of a metric that have changed since it was computed last, and returns the version of their
 * new rows; null when none has changed. The rows of an entity are replaced whole. What was interrupted is repeated,
 * since the progress is stored last.
 */
export async function refold(
  options: RefoldOptions,
  metric: EntityMetric,
  window: Window,
): Promise<bigint | null> {
  const { store, numbers, writers, isWritten, beginWriting, progressOf } = options;
  const relay_chain = relayOf(window);
  const before = progressOf(metric.name, relay_chain);
  const tables = [...dependencies(metric)].filter(isWritten).sort();
  const computed = await writers.run(metric.name, async (isRepeated) => {
    const reads = isRepeated ? new RoundReads() : options.reads;
    const version = await numbers.take(1);
    // Metrics that read the same tables come equally far, so that the next round asks for all of them once.
    const scope = tables.join();
    const upTo = await reads.once(scope, () => writers.visibleUpTo(version, tables));
    const pieces = await readChanged({ store, reads, scope }, metric, relay_chain, before.upTo);
    const mayLoseRows = pieces.length > 0 && !beginWriting(pieces.flat());
    // More pieces would not fit into memory together.
    const sharing = pieces.length === 1 ? reads : undefined;
    for (const piece of pieces)
      await replaceEntities(store, metric, { ...window, mayLoseRows }, version, piece, sharing);
    return { version, upTo, isChanged: pieces.length > 0 };
  });
  const { version, upTo, isChanged } = computed;
  if (isChanged) {
    const progress = { up_to: upTo.toString(), registry: before.registry, version: version.toString() };
    await store.insert(foldedEntities, [{ metric: metric.name, relay_chain, ...progress }]);
  }
  return isChanged ? version : null;
}

/** Lets all entities of these metrics be computed again. */
export async function forgetEntities(
  { store, numbers }: Pick<RefoldOptions, 'store' | 'numbers'>,
  metrics: readonly MaterializedMetric[],
  relays: readonly string[],
): Promise<void> {
  const names = metrics.filter(({ entities }) => entities).map(({ name }) => name);
  if (names.length === 0) return;
  const version = (await numbers.take(1)).toString();
  await store.insert(
    foldedEntities,
    names.flatMap((metric) =>
      relays.map((relay_chain) => ({ metric, relay_chain, up_to: '0', registry: '', version })),
    ),
  );
}

/** Reads how far the entities of all metrics are computed. Another registry changes all entities of a relay chain. */
export async function readProgress(store: Store): Promise<EntityProgress> {
  const rows = await store.rows<{ metric: string; relay_chain: string; up_to: string; registry: string }>(
    sql`SELECT toString(metric) AS metric, relay_chain, toString(argMax(up_to, folded.version)) AS up_to,
        argMax(folded.registry, folded.version) AS registry
      FROM ${foldedEntities} AS folded GROUP BY metric, relay_chain
      UNION ALL
      SELECT '', relay_chain, '', hex(groupBitXor(sipHash64(chain, token, decimals, prefix)))
      FROM ${chains} FINAL GROUP BY relay_chain`,
  );
  const known = new Map(rows.map((row) => [`${row.metric}/${row.relay_chain}`, row]));
  return (metric, relayChain) => {
    const registry = known.get(`/${relayChain}`)?.registry ?? '';
    const stored = known.get(`${metric}/${relayChain}`);
    return { upTo: stored?.registry === registry ? BigInt(stored.up_to) : 0n, registry };
  };
}

/** The entities that rows above a version change, in pieces of about as many facts. */
async function readChanged(
  { store, reads, scope }: Pick<RefoldOptions, 'store' | 'reads'> & { readonly scope: string },
  metric: EntityMetric,
  relayChain: string,
  after: bigint,
): Promise<EntityId[][]> {
  const { table } = metric;
  const { changed, sizes, column } = metric.entities;
  const named = changed(relayChain, after);
  // Rows of an entity that nothing names any more go too.
  const stored = sql`SELECT ${ident(column)} AS entity FROM ${table} WHERE relay_chain = ${relayChain}`;
  const all = after > 0n ? named : sql`${named} UNION DISTINCT ${stored}`;
  // Those who share an answer come equally far.
  const rowsOf = <Row>(statement: Sql) =>
    reads.once(`${scope} ${statement.text}`, () => store.rows<Row>(statement));
  const rows = await rowsOf<{ entity: EntityId }>(sql`SELECT entity FROM (${all}) ORDER BY entity`);
  const pieces: EntityId[][] = [];
  for (const some of inParts(rows.map(({ entity }) => entity))) {
    // One alone is a piece, whatever its size.
    const counted =
      sizes && some.length > 1
        ? await rowsOf<{ entity: EntityId; facts: number }>(sizes(relayChain, some))
        : [];
    const facts = new Map(counted.map((row) => [row.entity, row.facts]));
    pieces.push(...partsOf(some, PIECE_FACTS_MAX, (entity) => (facts.get(entity) ?? 0) + ENTITY_FACTS));
  }
  return pieces;
}

async function replaceEntities(
  store: Store,
  metric: EntityMetric,
  window: ComputedWindow,
  version: bigint,
  piece: readonly EntityId[],
  reads: RoundReads | undefined,
): Promise<void> {
  const facts =
    reads &&
    metric.fold &&
    (await reads.once(metric.select(window, piece).text, () => readFacts(store, metric, window, piece)));
  await insertRows(store, metric, window, version, { entities: piece, facts });
  if (!window.mayLoseRows) return;
  const ofPiece = sql`${ofRelays(window)} AND ${ident(metric.entities.column)} IN ${piece}`;
  await deleteOlderRows(store, metric, ofPiece, version);
}
