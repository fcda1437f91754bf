import { literal, sql } from '../infra/clickhouse/sql.ts';
import { Lease, type Mutex } from '../infra/coordination/lock.ts';
import { ProductError } from '../infra/errors.ts';
import type { Message, Numbers, Pieces, Runtime, StagedBatch } from '../infra/ports.ts';
import { encodeAddress } from './chains/address.ts';
import type { Registry } from './chains/registry.ts';
import { parseExact } from './decode/json.ts';
import { type DeadLetter, writeDeadLetters } from './log/dead-letters.ts';
import { type BlockHead, type Origin, readEnvelope, splitEnvelope } from './log/envelope.ts';
import { blocksIn } from './raw/block-landing.ts';
import { blockLine, readLandingHead, snapshotLine } from './raw/landing-lines.ts';
import { type Day, replacedDays } from './raw/replaced-days.ts';
import { ANY_PALLET, addressEncodings, addressEncodingsDue, dirtyDays } from './raw/tables.ts';
import { snapshotsIn } from './raw/views/snapshots.ts';

export const TOPICS = { blocks: 'chain.blocks.v1', snapshots: 'chain.snapshots.v1' } as const;

/** The group of all loads that are under way. */
export const LOADING = 'loading';

/** What a loader has done since its start. */
export interface Loads {
  messages: number;
  bytes: number;
  batches: number;
  refused: number;
  failures: number;
}

interface Line {
  /** Place in the batch: the lines of a statement are numbered from it. */
  readonly index: number;
  readonly bytes: Pieces;
  readonly head: Pick<BlockHead, 'relay_chain' | 'chain' | 'number'> & Origin;
  readonly original: Buffer;
  /** The same block in the layout that the engine reads, for when it could not read the source's. */
  readonly secondTry?: () => Pieces | { refused: string };
}

/** A batch of the log, taken apart before its turn has come. */
interface Ready {
  readonly lines: Line[];
  readonly letters: DeadLetter[];
  readonly messages: number;
  bytes: number;
}

interface Landing {
  readonly topic: string;
  readonly table: typeof blocksIn | typeof snapshotsIn;
}
const LANDING_TABLES: Record<'blocks' | 'snapshots', Landing> = {
  blocks: { topic: TOPICS.blocks, table: blocksIn },
  snapshots: { topic: TOPICS.snapshots, table: snapshotsIn },
};

/**
 * Turns messages of the log into raw rows. A batch is staged, loaded in one statement and only then forgotten;
 * a batch that the engine refuses is halved until the bad message stands alone and becomes a dead letter.
 */
export class Loader {
  readonly #runtime: Runtime;
  readonly #registry: Registry;
  readonly #numbers: Numbers;
  readonly #leaseMs: number;
  readonly loads: Loads = { messages: 0, bytes: 0, batches: 0, refused: 0, failures: 0 };
  readonly #gate: Mutex;
  readonly #deadLetterBytes: number;
  /** Batches that the store failed on: finished before anything newer, so that the order of reading holds. */
  readonly #halfLoaded: StagedBatch[] = [];
  /** Days that the load under way takes blocks from: a repeat of it does not find them any more. */
  readonly #replaced = new Map<string, Day>();
  readonly #onTouched: () => Promise<void>;

  constructor(options: {
    runtime: Runtime;
    registry: Registry;
    numbers: Numbers;
    /** Held while a batch is half loaded. */
    gate: Mutex;
    /** Time after which a load that died is not waited for. */
    leaseMs: number;
    deadLetterBytes: number;
    /** Called after a batch is durable. */
    onTouched: () => Promise<void>;
  }) {
    this.#runtime = options.runtime;
    this.#registry = options.registry;
    this.#numbers = options.numbers;
    this.#leaseMs = options.leaseMs;
    this.#gate = options.gate;
    this.#deadLetterBytes = options.deadLetterBytes;
    this.#onTouched = options.onTouched;
  }

  /** Finishes what a killed process had begun, then takes in what the log brings. */
  async start(): Promise<void> {
    for (const batch of await this.#runtime.store.unfinished()) await this.#finish(batch);
    const landingTables = ['blocks', 'snapshots'] as const;
    await Promise.all(
      landingTables.map((landingTable) =>
        this.#runtime.log.subscribe(
          TOPICS[landingTable],
          'load',
          (ready: Ready) => this.#counted(landingTable, ready),
          (batch) => this.#prepare(landingTable, batch),
        ),
      ),
    );
  }

  #prepare(name: 'blocks' | 'snapshots', messages: readonly Message[]): Ready {
    const ready: Ready = { lines: [], letters: [], messages: messages.length, bytes: 0 };
    messages.forEach(({ value }, index) => {
      const line = name === 'blocks' ? this.#blockLine(value, index) : this.#snapshotLine(value, index);
      if ('refused' in line) ready.letters.push(line.refused);
      else ready.lines.push(line);
      ready.bytes += value.length;
    });
    return ready;
  }

  async #counted(name: 'blocks' | 'snapshots', ready: Ready): Promise<void> {
    try {
      await this.#gate.run(() => this.#take(name, ready));
      this.loads.batches++;
      this.loads.messages += ready.messages;
      this.loads.bytes += ready.bytes;
    } catch (error) {
      this.loads.failures++;
      throw error;
    }
  }

  async #take(name: 'blocks' | 'snapshots', { lines, letters }: Ready): Promise<void> {
    for (let batch = this.#halfLoaded.shift(); batch; batch = this.#halfLoaded.shift())
      await this.#finish(batch);
    await this.#bury(letters);
    await this.#known(async () => {
      if (lines.length > 0) await this.#load(LANDING_TABLES[name], lines);
      await this.#spell();
    });
    await this.#onTouched();
  }

  /**
   * Loads while every process knows that a load is under way: whoever computes waits for it, and takes nothing for
   * settled that it touches. When they lost sight of it, the same is loaded once more under newer numbers.
   */
  async #known(load: () => Promise<void>): Promise<void> {
    this.#replaced.clear();
    for (;;) {
      const lease = (await Lease.acquire(this.#runtime.keyValue, LOADING, this.#leaseMs)) as Lease;
      try {
        await this.#touch([...this.#replaced.values()]);
        await load();
      } catch (error) {
        await lease.release().catch(() => undefined);
        throw error;
      }
      if (await lease.release()) return;
    }
  }

  async #load(landingTable: Landing, lines: readonly Line[]): Promise<void> {
    const staged = await this.#runtime.store.stage(
      landingTable.table,
      lines.map((line) => line.bytes),
    );
    try {
      await this.#commit(landingTable, lines, staged);
    } catch (error) {
      // Finished later by itself, a batch would overwrite what others have read of the log meanwhile.
      if (this.#runtime.log.redelivers) await staged.discard();
      else this.#halfLoaded.push(staged);
      throw error;
    }
    await staged.discard();
  }

  async #commit(landingTable: Landing, lines: readonly Line[], staged: StagedBatch): Promise<void> {
    try {
      if (landingTable.table === blocksIn) await this.#touchReplaced(lines);
      await staged.commit(await this.#numbers.take((lines.at(-1)?.index ?? 0) + 1));
    } catch (error) {
      if (!(error instanceof ProductError) || error.code !== 'store_refused') throw error;
      if (lines.some((line) => line.secondTry)) return this.#loadAgain(landingTable, lines);
      if (lines.length === 1) {
        const [line] = lines as [Line];
        const reason = `${error.message}: ${error.detail ?? ''}`.slice(0, 500);
        return this.#bury([letter(landingTable.topic, line.head, reason, line.original)]);
      }
      const half = lines.length >> 1;
      await this.#load(landingTable, lines.slice(0, half));
      await this.#load(landingTable, lines.slice(half));
    }
  }

  /** Opens every line of a refused batch: what is no block is buried, the rest is laid out as the engine reads it. */
  async #loadAgain(landingTable: Landing, lines: readonly Line[]): Promise<void> {
    const letters: DeadLetter[] = [];
    const laidOut: Line[] = [];
    for (const { secondTry, ...line } of lines) {
      const bytes = secondTry?.() ?? line.bytes;
      if ('refused' in bytes)
        letters.push(letter(landingTable.topic, line.head, bytes.refused, line.original));
      else laidOut.push({ ...line, bytes });
    }
    await this.#bury(letters);
    if (laidOut.length > 0) await this.#load(landingTable, laidOut);
  }

  /** Days that lose a block when a height is loaded again: told before the old row can be merged away. */
  async #touchReplaced(lines: readonly Line[]): Promise<void> {
    const days = await replacedDays(
      this.#runtime.store,
      lines.map(({ head }) => head),
    );
    for (const day of days) this.#replaced.set(JSON.stringify(day), day);
    await this.#touch(days);
  }

  async #touch(days: readonly Day[]): Promise<void> {
    if (days.length === 0) return;
    const sequence = String(await this.#numbers.take(1));
    await this.#runtime.store.insert(
      dirtyDays,
      days.map((day) => ({ stream: 'blocks', pallet: ANY_PALLET, ...day, sequence })),
    );
  }

  /** Spells account keys that the source printed for another network. */
  async #spell(): Promise<void> {
    const due = await this.#runtime.store.rows<{ key: string; prefix: number }>(
      sql`SELECT concat('0x', lower(hex(key))) AS key, prefix FROM ${addressEncodingsDue} FINAL
        WHERE (key, prefix) NOT IN (SELECT key, prefix FROM ${addressEncodings})`,
    );
    if (due.length === 0) return;
    const spelled = due.map(
      ({ key, prefix }) =>
        `(unhex(${literal(key.slice(2))}), ${prefix}, ${literal(encodeAddress(key, prefix))})`,
    );
    await this.#runtime.store.run(
      `INSERT INTO ${sql`${addressEncodings}`.text} VALUES ${spelled.join(', ')}`,
    );
  }

  async #finish(batch: StagedBatch): Promise<void> {
    const landingTable = Object.values(LANDING_TABLES).find(({ table }) => table.name === batch.table);
    if (landingTable) {
      const lines = (await batch.lines()).map((bytes): Line => {
        const { index, ...head } = readLandingHead(bytes);
        return {
          index,
          bytes,
          head: { ...head, source: 'spool', origin: 'spool', line: index },
          original: bytes,
        };
      });
      if (lines.length > 0) await this.#known(() => this.#load(landingTable, lines));
    }
    await batch.discard();
  }

  #blockLine(value: Buffer, index: number): Line | { refused: DeadLetter } {
    const split = splitEnvelope(value) ?? this.#foreignEnvelope(value);
    if ('refused' in split) return split;
    const { head, payload } = split;
    const chain = this.#registry.find(head.chain, head.relay_chain);
    if (!chain) return { refused: letter(TOPICS.blocks, head, `chain: unknown ${head.chain}`, value) };
    return {
      index,
      head,
      original: payload,
      bytes: blockLine(index, head, chain, payload),
      secondTry: () => {
        const normal = readEnvelope(
          { ...head, schema: 'block/1', payload: parseOrNull(payload) },
          this.#registry,
          head,
        );
        if ('refused' in normal) return normal;
        const again = splitEnvelope(normal.value);
        return again ? blockLine(index, again.head, chain, again.payload) : { refused: 'no block' };
      },
    };
  }

  #snapshotLine(value: Buffer, index: number): Line | { refused: DeadLetter } {
    const line = snapshotLine(index, value, this.#registry);
    if ('refused' in line) return { refused: letter(TOPICS.snapshots, line.origin, line.refused, value) };
    return { index, head: { ...line.head, number: '0', ...line.origin }, original: value, bytes: line.bytes };
  }

  #foreignEnvelope(value: Buffer): { head: BlockHead; payload: Buffer } | { refused: DeadLetter } {
    const origin = { source: 'log', origin: TOPICS.blocks, line: 0 };
    const document = parseOrNull(value);
    const read =
      typeof document === 'object' && document !== null
        ? readEnvelope(document as Record<string, unknown>, this.#registry, origin)
        : { refused: 'not JSON' };
    const split = 'refused' in read ? null : splitEnvelope(read.value);
    return (
      split ?? {
        refused: letter(TOPICS.blocks, origin, 'refused' in read ? read.refused : 'no block', value),
      }
    );
  }

  #bury(letters: readonly DeadLetter[]): Promise<void> {
    this.loads.refused += letters.length;
    const { store, clock, log } = this.#runtime;
    return writeDeadLetters(store, letters, clock.now(), this.#deadLetterBytes, log);
  }
}

function letter(topic: string, origin: Origin, reason: string, bytes: Buffer): DeadLetter {
  return { topic, reason, bytes, source: origin.source, origin: origin.origin, line: origin.line };
}

function parseOrNull(bytes: Buffer): unknown {
  try {
    return parseExact(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
