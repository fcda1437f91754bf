import type { Numbers, Runtime } from '../../infra/ports.ts';
import { type ChainHeight, hasNoOtherVersions, type LoadNumbers } from '../raw/heights.ts';
import { type ChainHour, readHoursOfHeights, recordReplacedBlocks } from '../raw/replaced-hours.ts';
import { ANY_PALLET, dirtyDays, dirtyHours } from '../raw/tables.ts';

const DAY_CHARS = 'YYYY-MM-DD'.length;

/** Marks hours as dirty if a block in them is replaced by another block at the same height. */
export class ReplacedMarks {
  readonly #runtime: Pick<Runtime, 'store'>;
  readonly #numbers: Numbers;
  /** Marked hours of the current load, kept because a retry may no longer find the replaced blocks in the store. */
  readonly #marked = new Map<string, ChainHour>();

  constructor(runtime: Pick<Runtime, 'store'>, numbers: Numbers) {
    this.#runtime = runtime;
    this.#numbers = numbers;
  }

  clear(): void {
    this.#marked.clear();
  }

  /** Marks all hours of the current load again, with a newer sequence. */
  markAgain(): Promise<void> {
    return this.add([...this.#marked.values()]);
  }

  /** Marks the hours of the stored blocks at these heights before a merge can remove them. */
  async markBeforeLoad(heads: readonly ChainHeight[], areNew: boolean): Promise<void> {
    if (!areNew) await this.#addNew(await readHoursOfHeights(this.#runtime.store, heads));
  }

  /**
   * Marks hours that are visible only after the load: of blocks that another process stored at the same heights meanwhile,
   * and of misdated children. Skips the search if only this load has stored blocks there, as for most loads.
   */
  async markAfterLoad(heads: readonly ChainHeight[], areNew: boolean, numbers: LoadNumbers): Promise<void> {
    const { store } = this.#runtime;
    if (areNew && (await hasNoOtherVersions(store, heads, numbers))) return;
    await this.#addNew(await recordReplacedBlocks(store, heads));
  }

  async add(hours: readonly ChainHour[]): Promise<void> {
    if (hours.length === 0) return;
    const { store } = this.#runtime;
    const sequence = String(await this.#numbers.take(1));
    const days = new Map(
      hours.map(({ hour, ...chain }) => {
        const day = { ...chain, day: hour.slice(0, DAY_CHARS) };
        return [JSON.stringify(day), day];
      }),
    );
    const mark = { pallet: ANY_PALLET, sequence };
    await store.insert(
      dirtyHours,
      hours.map((hour) => ({ ...mark, ...hour })),
    );
    await store.insert(
      dirtyDays,
      [...days.values()].map((day) => ({ stream: 'blocks', ...mark, ...day })),
    );
  }

  async #addNew(hours: readonly ChainHour[]): Promise<void> {
    const unmarked = new Map(hours.map((hour) => [JSON.stringify(hour), hour]));
    for (const key of this.#marked.keys()) unmarked.delete(key);
    for (const [key, hour] of unmarked) this.#marked.set(key, hour);
    await this.add([...unmarked.values()]);
  }
}
