import { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import type { Runtime } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { deadLetters } from '../raw/tables.ts';
import {
  dropDeadLetters,
  type RetriedLetter,
  type RetryDependencies,
  type RetryOutcome,
  retryDeadLetters,
} from './dead-letter-retry.ts';
import { countDeadLetters } from './dead-letters.ts';

/** A request of an operator. `ids` are ids of dead letters or their first characters. */
export const deadLetterRequest = z.object({
  action: z.enum(['list', 'show', 'retry', 'drop']),
  ids: z
    .array(z.string().regex(/^[0-9a-f]{4,32}$/, 'an id is 4 to 32 hexadecimal digits'))
    .max(1000)
    .default([]),
  /** Whether `retry` or `drop` applies to all dead letters. */
  all: z.boolean().default(false),
  /** Chain of the bare blocks among retried letters; default: the chain that the file is named after. */
  chain: z.string().optional(),
  limit: z.int().min(1).max(10_000).default(20),
});
export type DeadLetterRequest = z.input<typeof deadLetterRequest>;

interface StoredDeadLetter {
  readonly id: string;
  readonly topic: string;
  readonly origin: string;
  readonly line: number;
  readonly reason: string;
  readonly size: number;
  readonly attempts: number;
  readonly received_at: string;
  /** The stored text; only for the action `show`. */
  readonly text?: string;
}

export interface DeadLetterResult {
  readonly total: number;
  readonly letters: readonly StoredDeadLetter[];
  /** The result of each retry. */
  readonly outcomes?: readonly RetryOutcome[];
}

interface Row extends StoredDeadLetter, RetriedLetter {
  /** Empty unless the action is `show`. */
  readonly bytes: string;
}

/** Lists, shows, retries or drops dead letters. Throws `usage` if an id is not found. */
export async function handleDeadLetterRequest(
  dependencies: RetryDependencies,
  given: DeadLetterRequest,
): Promise<DeadLetterResult> {
  const { runtime } = dependencies;
  const request = deadLetterRequest.parse(given);
  const rows = await selectDeadLetters(runtime, request);
  const letters = rows.map(({ version: _version, bytes, log_offset: _offset, ...letter }) =>
    request.action === 'show' ? { ...letter, text: bytes } : letter,
  );
  const outcomes =
    request.action === 'retry' ? await retryDeadLetters(dependencies, rows, request.chain) : undefined;
  if (request.action === 'drop') await dropDeadLetters(runtime, rows);
  return { total: await countDeadLetters(runtime.store), letters, ...(outcomes ? { outcomes } : {}) };
}

const DEAD_LETTERS_MAX = 10_000;

async function selectDeadLetters(
  { store }: Runtime,
  { action, ids, all, limit }: z.output<typeof deadLetterRequest>,
): Promise<Row[]> {
  const isChange = action === 'retry' || action === 'drop';
  if (isChange && ids.length === 0 && !all) {
    throw new ProductError('usage', `${action}: pass ids of dead letters, or --all`);
  }
  const chosen = ids.length > 0 ? sql`arrayExists(start -> startsWith(id, start), ${ids})` : sql`1`;
  const rows = await store.rows<Row>(sql`
    SELECT id, topic, origin, line, reason, size, attempts, received_at, toString(version) AS version, log_offset,
      ${action === 'show' ? sql`bytes` : sql`'' AS bytes`}
    FROM ${deadLetters} FINAL WHERE ${chosen}
    ORDER BY received_at DESC, origin, line LIMIT ${isChange ? DEAD_LETTERS_MAX : limit}`);
  for (const start of ids) {
    const found = rows.filter(({ id }) => id.startsWith(start)).length;
    if (found === 0)
      throw new ProductError(
        'usage',
        `no dead letter has the id ${start}; \`dead-letters list\` shows the ids`,
      );
    if (found > 1)
      throw new ProductError(
        'usage',
        `${found} ids of dead letters begin with ${start}; pass more characters`,
      );
  }
  return rows;
}
