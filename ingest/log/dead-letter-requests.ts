import { z } from 'zod';
import { sql } from '../../infra/clickhouse/sql.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Runtime } from '../../infra/ports.ts';
import type { Registry } from '../chains/registry.ts';
import { deadLetters } from '../raw/tables.ts';
import { bareName } from '../sources/lines.ts';
import { writeDeadLetters } from './dead-letters.ts';
import { readLine } from './envelope.ts';
import { TOPICS } from './topics.ts';

/** A request of an operator. Dead letters are named by the first characters of their ids. */
export const deadLetterRequest = z.object({
  action: z.enum(['list', 'show', 'retry', 'drop']),
  ids: z.array(z.string().regex(/^[0-9a-f]{4,32}$/, 'an id is 4 to 32 hexadecimal digits')).default([]),
  /** All dead letters, for actions that take several. */
  all: z.boolean().default(false),
  /** Chain of bare blocks that are retried. */
  chain: z.string().optional(),
  limit: z.int().min(1).max(10_000).default(20),
});
export type DeadLetterRequest = z.input<typeof deadLetterRequest>;

export interface StoredDeadLetter {
  readonly id: string;
  readonly topic: string;
  readonly origin: string;
  readonly line: number;
  readonly reason: string;
  readonly size: number;
  readonly attempts: number;
  readonly received_at: string;
  /** Its stored text; only of the action `show`. */
  readonly text?: string;
}

export interface DeadLetterResult {
  readonly total: number;
  readonly letters: readonly StoredDeadLetter[];
  /** The result of each retry. */
  readonly outcomes?: readonly { readonly id: string; readonly refused: string | null }[];
}

interface Row extends StoredDeadLetter {
  readonly version: string;
  readonly bytes: string;
  readonly log_offset: string;
}

/** Lists, shows, retries or drops dead letters. Throws `usage` when one is not found. */
export async function handleDeadLetterRequest(
  runtime: Runtime,
  registry: Registry,
  deadLetterBytes: number,
  given: DeadLetterRequest,
): Promise<DeadLetterResult> {
  const request = deadLetterRequest.parse(given);
  const rows = await selectDeadLetters(runtime, request);
  const letters = rows.map(({ version: _version, bytes, log_offset: _offset, ...letter }) =>
    request.action === 'show' ? { ...letter, text: bytes } : letter,
  );
  const outcomes =
    request.action === 'retry'
      ? await retry(runtime, registry, deadLetterBytes, rows, request.chain)
      : undefined;
  if (request.action === 'drop') await forget(runtime, rows);
  const [count] = await runtime.store.rows<{ total: number }>(
    sql`SELECT count() AS total FROM ${deadLetters} FINAL`,
  );
  return { total: count?.total ?? 0, letters, ...(outcomes ? { outcomes } : {}) };
}

const DEAD_LETTERS_MAX = 10_000;

async function selectDeadLetters(
  { store }: Runtime,
  { action, ids, all, limit }: z.output<typeof deadLetterRequest>,
): Promise<Row[]> {
  const isChange = action === 'retry' || action === 'drop';
  if (isChange && ids.length === 0 && !all) {
    throw new ProductError('usage', `${action}: name letters by their ids, or pass --all`);
  }
  const chosen = ids.length > 0 ? sql`arrayExists(start -> startsWith(id, start), ${ids})` : sql`1`;
  const rows = await store.rows<Row>(sql`
    SELECT id, topic, origin, line, reason, size, attempts, received_at, toString(version) AS version, bytes, log_offset
    FROM ${deadLetters} FINAL WHERE ${chosen}
    ORDER BY received_at DESC, origin, line LIMIT ${isChange ? DEAD_LETTERS_MAX : limit}`);
  for (const start of ids) {
    const found = rows.filter(({ id }) => id.startsWith(start)).length;
    if (found === 0)
      throw new ProductError('usage', `no dead letter ${start}; \`dead-letters list\` shows them`);
    if (found > 1)
      throw new ProductError('usage', `${found} dead letters begin with ${start}; give more of the id`);
  }
  return rows;
}

/**
 * Publishes dead letters to the topic of their stream. A line that is refused again stays a dead letter with one more
 * attempt. A line of which only the first bytes are stored stays too: its source has to be ingested again.
 */
async function retry(
  runtime: Runtime,
  registry: Registry,
  deadLetterBytes: number,
  rows: readonly Row[],
  chainName: string | undefined,
): Promise<{ id: string; refused: string | null }[]> {
  const whole = await wholeBytes(runtime, rows);
  const outcomes: { id: string; refused: string | null }[] = [];
  for (const [at, row] of rows.entries()) {
    const bytes = whole[at];
    const origin = { source: 'retry', origin: row.origin, line: row.line };
    if (!bytes) {
      const refused = `only its first bytes are kept; take in ${row.origin} again`;
      outcomes.push({ id: row.id, refused });
      continue;
    }
    const chain = registry.find(chainName ?? bareName(row.origin));
    const read = readLine(bytes, chain, registry, origin);
    if ('refused' in read) {
      const letter = { ...origin, topic: row.topic, reason: read.refused, bytes };
      await writeDeadLetters(runtime.store, [letter], runtime.clock.now(), deadLetterBytes, runtime.log);
    } else {
      await runtime.log.publish(TOPICS[read.topic], [read]);
      await forget(runtime, [row]);
    }
    outcomes.push({ id: row.id, refused: 'refused' in read ? read.refused : null });
  }
  return outcomes;
}

/** The whole lines: from the log where it stores them, else from the store where nothing was cut off. */
async function wholeBytes({ log }: Runtime, rows: readonly Row[]): Promise<(Buffer | null)[]> {
  const found = new Map<Row, Buffer | null>();
  for (const topic of new Set(rows.map((row) => row.topic))) {
    const logged = rows.filter((row) => row.topic === topic && row.log_offset !== '');
    if (logged.length === 0) continue;
    const bytes = await log.readDeadLetters(
      topic,
      logged.map((row) => row.log_offset),
    );
    logged.forEach((row, i) => {
      found.set(row, bytes[i] ?? null);
    });
  }
  return rows.map((row) => {
    const stored = Buffer.from(row.bytes);
    return found.get(row) ?? (stored.length === row.size ? stored : null);
  });
}

/** The tombstone is older than every dead letter that the same line may become later. */
async function forget({ store }: Runtime, rows: readonly Row[]): Promise<void> {
  await store.insert(
    deadLetters,
    rows.map(({ id, topic, origin, line, attempts, version }) => ({
      id,
      topic,
      origin,
      line,
      attempts,
      version: String(BigInt(version) + 1n),
      is_deleted: 1,
    })),
  );
}
