import { ProductError } from '../../infra/errors.ts';
import type { Runtime, Store } from '../../infra/ports.ts';
import { type Sql, sql } from '../../infra/sql.ts';
import { type ChainKey, ofChain } from '../raw/canonical.ts';
import { blocks, skippedHeights } from '../raw/tables.ts';

/** A height that a source failed to serve while it served others. */
export interface UnservedHeight {
  readonly number: number;
  readonly reason: string;
}

/** A skipped height. Its record is stored until its block is stored. */
export interface SkippedHeight extends UnservedHeight {
  readonly relay_chain: string;
  readonly chain: string;
  readonly first_tried_at: string;
  readonly last_tried_at: string;
  readonly tries: number;
}

export const SKIPPED_REASON_CHARACTERS = 200;
const RETRY_SECONDS_MAX = 86_400;

/** Each retry doubles the time limit of a slow block, up to this factor. */
export const TIMEOUT_FACTOR_MAX = 8;

export const timeoutFactorFor = ({ tries }: SkippedHeight): number =>
  Math.min(TIMEOUT_FACTOR_MAX, 2 ** tries);

/** Time of the next attempt. The wait doubles with each attempt. */
export function nextAttemptAt({ last_tried_at, tries }: SkippedHeight, retrySeconds: number): number {
  const seconds = Math.min(retrySeconds * 2 ** (tries - 1), Math.max(retrySeconds, RETRY_SECONDS_MAX));
  return Date.parse(last_tried_at) + seconds * 1000;
}

/** Skipped heights whose final block is stored now, from any source. */
const filled = sql`SELECT relay_chain, chain, number FROM ${blocks} FINAL
  WHERE finalized AND (relay_chain, chain, number) IN (SELECT relay_chain, chain, number FROM ${skippedHeights})`;

/** Skipped heights of one chain or of all, at most `heightsMax` of each chain. */
export function readSkippedHeights(
  store: Pick<Store, 'rows'>,
  place?: ChainKey,
  heightsMax = Number.MAX_SAFE_INTEGER,
): Promise<SkippedHeight[]> {
  return store.rows<SkippedHeight>(sql`
    SELECT relay_chain, chain, number, reason, first_tried_at, last_tried_at, tries
    FROM ${skippedHeights} FINAL
    WHERE ${ofChain(place)} AND (relay_chain, chain, number) NOT IN (${filled})
    ORDER BY relay_chain, chain, number LIMIT ${heightsMax} BY relay_chain, chain`);
}

/** Counts the skipped heights of each chain. */
export function countSkippedHeights(
  store: Pick<Store, 'rows'>,
): Promise<(ChainKey & { readonly heights: number })[]> {
  const counts = sql`
    SELECT relay_chain, chain, count() AS heights FROM ${skippedHeights} FINAL
    WHERE (relay_chain, chain, number) NOT IN (${filled}) GROUP BY relay_chain, chain`;
  return store.rows(counts);
}

/** SQL of the skipped heights of a chain. */
export const skippedNumbers = (place: ChainKey): Sql =>
  sql`SELECT number FROM ${skippedHeights} FINAL WHERE ${ofChain(place)}`;

/**
 * Counts another failed attempt for each height, and deletes heights whose block is stored now. Throws `source_failed`
 * above `heightsMax` skipped heights of a chain: such a source lacks a whole range.
 */
export async function noteSkippedHeights(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  place: ChainKey,
  unserved: readonly UnservedHeight[],
  heightsMax: number,
): Promise<void> {
  await deleteFilled(store, place, clock.now());
  const known = new Map((await readSkippedHeights(store, place)).map((height) => [height.number, height]));
  const fresh = unserved.filter(({ number }) => !known.has(number));
  const room = Math.max(0, heightsMax - known.size);
  const noted = [...unserved.filter(({ number }) => known.has(number)), ...fresh.slice(0, room)];
  const now = clock.now();
  const at = new Date(now).toISOString();
  const version = await versionAfter(store, place, now);
  await store.insert(
    skippedHeights,
    noted.map(({ number, reason }) => ({
      ...place,
      number,
      reason: reason.slice(0, SKIPPED_REASON_CHARACTERS),
      first_tried_at: known.get(number)?.first_tried_at ?? at,
      last_tried_at: at,
      tries: (known.get(number)?.tries ?? 0) + 1,
      version,
      is_deleted: 0,
    })),
  );
  const lacking = fresh[room];
  if (lacking === undefined) return;
  throw new ProductError(
    'source_failed',
    `${heightsMax} heights of ${place.chain} are skipped already, and the source does not serve ` +
      `${lacking.number} either (${lacking.reason}): start above the missing range, or add a source that has it`,
  );
}

async function deleteFilled(store: Store, place: ChainKey, now: number): Promise<void> {
  await store.run(sql`
    INSERT INTO ${skippedHeights} SELECT * REPLACE (greatest(${now}, version + 1) AS version, 1 AS is_deleted)
    FROM ${skippedHeights} FINAL WHERE ${ofChain(place)} AND (relay_chain, chain, number) IN (${filled})`);
}

/** A version above every stored version of a chain, because the clock of another process may be ahead. */
async function versionAfter(store: Store, place: ChainKey, now: number): Promise<number> {
  const [last] = await store.rows<{ version: string }>(
    sql`SELECT toString(max(skipped_heights.version)) AS version FROM ${skippedHeights} WHERE ${ofChain(place)}`,
  );
  return Math.max(now, Number(last?.version ?? 0) + 1);
}
