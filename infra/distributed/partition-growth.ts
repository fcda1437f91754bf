/** The first and the next offset of a partition. */
export interface PartitionEnds {
  readonly partition: number;
  readonly low: number;
  readonly high: number;
}

/** What a group has committed for a partition. */
export interface Committed {
  readonly offset: number;
  /** Text that was stored with the offset. */
  readonly note: string;
}

export interface GrowthDependencies {
  readonly ends: () => Promise<readonly PartitionEnds[]>;
  readonly committed: () => Promise<ReadonlyMap<number, Committed>>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** When the number of partitions was seen to be higher than `from`. */
interface Growth {
  readonly from: number;
  readonly at: number;
}

/** What a group knows of its topic. It is stored with the offset of each partition. */
interface Note {
  readonly partitions: number;
  readonly grown: readonly Growth[];
  /** Whether the partition has been ordered behind the ones that its keys came from. */
  readonly isOrdered: boolean;
}

interface Hold {
  /** Records up to this offset wait. */
  readonly until: number;
  /** Offsets that must be committed before. */
  readonly ends: readonly PartitionEnds[];
  readonly takenAt: number;
}

/** Time in which every producer has learned the new number: twice the metadata age of Kafka's own clients. */
export const PRODUCERS_LEARN_MS = 600_000;
/** A note stays far below the 4096 bytes that brokers take. */
const GROWTHS_MAX = 8;

/**
 * Keeps the order of the messages of a key when the partitions of a topic increase, which moves keys to new partitions.
 * A record of a new partition waits until the group has committed everything that the old partition of its key held
 * when the record was fetched: a producer that uses the new number has sent all earlier messages before. Only new
 * partitions wait, and only for older ones, so that no two wait for each other. A key moves between two old partitions
 * only where the new number is no multiple of the old one; then its order is not kept.
 *
 * A partition stops waiting when its old one was consumed up to an end that it had after all producers knew the new
 * number. What the group knows is stored with the committed offsets, so that the next owner of a partition continues.
 */
export class PartitionGrowth {
  readonly #dependencies: GrowthDependencies;
  #known: Promise<Note> | undefined;
  /** What was known last: no offset may have been committed since. */
  #last: Note = { partitions: 0, grown: [], isOrdered: false };
  readonly #ordered = new Set<number>();
  readonly #holds = new Map<number, Hold>();

  constructor(dependencies: GrowthDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reads again what the group knows: to be called when partitions were assigned. */
  refresh(): void {
    this.#known = undefined;
    this.#ordered.clear();
    this.#holds.clear();
  }

  /** The text to store with a committed offset. */
  async note(partition: number): Promise<string> {
    const { partitions, grown } = await this.#note();
    const isOrdered = this.#ordered.has(partition);
    return JSON.stringify({ partitions, grown: grown.map(({ from, at }) => [from, at]), isOrdered });
  }

  /** The last offset up to which fetched records may be handled now; `last` is the last one that was fetched. */
  async handledUntil(partition: number, last: number): Promise<number> {
    if (partition >= (await this.#note()).partitions) this.refresh();
    const note = await this.#note();
    const growth = note.grown.findLast(({ from }) => from <= partition);
    if (!growth || this.#ordered.has(partition)) return last;
    const hold = this.#holds.get(partition) ?? (await this.#hold(partition, note, last));
    const committed = await this.#dependencies.committed();
    if (!hold.ends.every((end) => isConsumed(end, committed.get(end.partition)?.offset))) {
      this.#holds.set(partition, hold);
      return -1;
    }
    this.#holds.delete(partition);
    if (hold.takenAt - growth.at >= PRODUCERS_LEARN_MS) {
      this.#ordered.add(partition);
      return last;
    }
    return Math.min(last, hold.until);
  }

  async #hold(partition: number, note: Note, until: number): Promise<Hold> {
    const takenAt = this.#dependencies.now();
    const sources = sourcesOf(partition, note);
    const ends = await this.#dependencies.ends();
    return { until, ends: ends.filter((end) => sources.has(end.partition)), takenAt };
  }

  #note(): Promise<Note> {
    const known = this.#known ?? this.#readNote();
    this.#known = known;
    known.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return known;
  }

  async #readNote(): Promise<Note> {
    const [ends, committed] = await Promise.all([this.#dependencies.ends(), this.#dependencies.committed()]);
    const now = this.#dependencies.now();
    let newest: Note | undefined;
    for (const [partition, { note }] of committed) {
      const read = readNote(note);
      if (read?.isOrdered) this.#ordered.add(partition);
      if (read && read.partitions > (newest?.partitions ?? 0)) newest = read;
    }
    if (!newest || this.#last.partitions > newest.partitions) newest = this.#last;
    const partitions = Math.max(ends.length, newest.partitions);
    // A clock that was ahead must not keep partitions waiting.
    const grown = newest.grown.map(({ from, at }) => ({ from, at: Math.min(at, now) }));
    if (newest.partitions > 0 && partitions > newest.partitions)
      grown.push({ from: newest.partitions, at: now });
    this.#last = { partitions, grown: grown.slice(-GROWTHS_MAX), isOrdered: false };
    return this.#last;
  }
}

/**
 * The older partitions that the keys of a partition can have been in. A number of partitions that divides all later
 * ones names one of them, another number all of them.
 */
function sourcesOf(partition: number, { partitions, grown }: Note): ReadonlySet<number> {
  const sources = new Set<number>();
  for (const [i, { from }] of grown.entries()) {
    if (from > partition) break;
    const later = [...grown.slice(i + 1).map((growth) => growth.from), partitions];
    if (later.every((count) => count % from === 0)) sources.add(partition % from);
    else for (let old = 0; old < from; old++) sources.add(old);
  }
  return sources;
}

/** Whether a group has consumed a partition up to an end. */
export const isConsumed = ({ low, high }: PartitionEnds, offset = -1): boolean =>
  high === low || offset >= high;

function readNote(text: string): Note | undefined {
  try {
    const { partitions, grown, isOrdered } = JSON.parse(text) as {
      partitions: number;
      grown: [number, number][];
      isOrdered: boolean;
    };
    return { partitions, grown: grown.map(([from, at]) => ({ from, at })), isOrdered };
  } catch {
    // Another client has committed the offset.
    return undefined;
  }
}
