import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { type DeadLetter, deadLetterOf } from '../dead-letters/dead-letters.ts';
import { timeOf } from '../decode/block-time.ts';
import type { Origin } from '../log/envelope.ts';
import { TOPICS } from '../log/topics.ts';
import { type ChainHeight, chunkHeights, heightKey, isAtHeights } from '../raw/heights.ts';
import { payloadOf } from '../raw/landing-lines.ts';
import { RetentionReader } from '../raw/retention.ts';
import { blocks } from '../raw/tables.ts';

/** A block to load. */
interface Arrived {
  readonly head: ChainHeight & Origin;
  readonly original: Buffer;
}

const NOW = Buffer.from('"now":');
const DIGITS = /^\s*"?(\d{1,16})/;
const DIGITS_BYTES = 24;
/** Bytes of a refused block that are stored. Few, since every run over an old source may refuse years of blocks again. */
const KEPT_BYTES = 512;

/** Refuses blocks of days whose raw rows are deleted or soon will be: the metrics of such a day would be incomplete. */
export class ClosedDays {
  readonly #store: Pick<Store, 'rows'>;
  readonly #retention: RetentionReader;

  constructor(store: Pick<Store, 'rows'>) {
    this.#store = store;
    this.#retention = new RetentionReader(store);
  }

  /** Returns the blocks of open days, and those of closed days as dead letters. */
  async split<Block extends Arrived>(
    arrived: readonly Block[],
  ): Promise<{ readonly open: readonly Block[]; readonly refused: readonly DeadLetter[] }> {
    const closed = (await this.#retention.read())?.closed;
    if (closed === undefined) return { open: arrived, refused: [] };
    const { before } = closed;
    const held = await this.#heldHeights(arrived, before);
    const time = Date.parse(before);
    const reason = `older than ${before}: the raw rows of these days were deleted (RETENTION_RAW_DAYS)`;
    const open: Block[] = [];
    const refused: DeadLetter[] = [];
    for (const block of arrived) {
      const { head, original } = block;
      if (held.has(heightKey(head)) || isBefore(original, time))
        refused.push({ ...deadLetterOf(TOPICS.blocks, head, reason, original), keptBytes: KEPT_BYTES });
      else open.push(block);
    }
    return { open, refused };
  }

  /** Heights that have a stored block before the day `before`. Lower heights are not added: the stored time may be wrong. */
  async #heldHeights(arrived: readonly Arrived[], before: string): Promise<ReadonlySet<string>> {
    const held = new Set<string>();
    for (const chains of chunkHeights(arrived.map(({ head }) => head))) {
      const rows = await this.#store.rows<ChainHeight>(
        sql`SELECT DISTINCT relay_chain, chain, toString(number) AS number FROM ${blocks} FINAL
          WHERE ${isAtHeights(chains)} AND time < toDateTime64(${before}, 3, 'UTC')`,
      );
      for (const row of rows) held.add(heightKey(row));
    }
    return held;
  }
}

/** Whether the time of a block is before `time`. Parses the block only if its text contains a timestamp before `time`. */
function isBefore(original: Buffer, time: number): boolean {
  for (let at = original.indexOf(NOW); at >= 0; at = original.indexOf(NOW, at + 1)) {
    const start = at + NOW.length;
    const [, digits] = DIGITS.exec(original.toString('latin1', start, start + DIGITS_BYTES)) ?? [];
    if (digits !== undefined && Number(digits) < time)
      return (timeOf(payloadOf(original)) ?? Number.POSITIVE_INFINITY) < time;
  }
  return false;
}
