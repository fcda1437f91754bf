import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { SavedFilter } from '../model/tables.ts';

/** Filters of one user in one project. */
const FILTERS_MAX = 20;
const NAME_CHARACTERS_MAX = 60;
const SEARCH_CHARACTERS_MAX = 4000;

interface SavedFiltersDependencies {
  readonly records: Records<SavedFilter>;
  readonly clock: Clock;
  readonly locks: Locks;
}

/** The user and the project of filters. */
export interface FilterOwner {
  readonly project: string;
  readonly user: string;
}

/** Named filters of the list of alerts. The list opens with the default filter, if a user has set one. */
export class SavedFilters {
  readonly #records: Records<SavedFilter>;
  readonly #clock: Clock;
  readonly #locks: Locks;

  constructor({ records, clock, locks }: SavedFiltersDependencies) {
    this.#records = records;
    this.#clock = clock;
    this.#locks = locks;
  }

  /** Sorted by name. */
  list(owner: FilterOwner): Promise<SavedFilter[]> {
    return this.#records.find(
      sql`owner = ${keyOf(owner)} AND deleted_ms = 0`,
      'lowerUTF8(name), id',
      FILTERS_MAX,
    );
  }

  /** Saves a filter. Replaces a filter with the same name. */
  async save(
    owner: FilterOwner,
    given: { readonly name: string; readonly search: string; readonly isDefault: boolean },
  ): Promise<void> {
    const name = cleanLine(given.name);
    const refused = (text: string) => new RequestRefused('bad_request', text, 'name');
    if (name === '') throw refused('Enter a name.');
    if (name.length > NAME_CHARACTERS_MAX) throw refused(`Enter at most ${NAME_CHARACTERS_MAX} characters.`);
    if (given.search.length > SEARCH_CHARACTERS_MAX) throw refused('The filter is too long.');
    await this.#changing(owner, async (known) => {
      const before = known.find((filter) => filter.name === name);
      if (before === undefined && known.length >= FILTERS_MAX)
        throw refused(`You can save up to ${FILTERS_MAX} filters in a project. Delete one first.`);
      const next = {
        id: before?.id ?? newLocator(),
        expires_ms: 0,
        owner: keyOf(owner),
        name,
        search: given.search,
        is_default: given.isDefault,
        created_ms: before?.created_ms ?? this.#clock.now(),
        deleted_ms: 0,
      };
      if (before === undefined) await this.#records.add(next);
      else await this.#records.change(before.id, () => ({ next, result: undefined }));
      if (given.isDefault) await this.#clearDefault(known.filter(({ id }) => id !== next.id));
    });
  }

  /** Makes a filter the default, or no longer the default. */
  async setDefault(owner: FilterOwner, id: string, is_default: boolean): Promise<void> {
    await this.#changing(owner, async (known) => {
      await this.#changeOwn(known, id, { is_default });
      if (is_default) await this.#clearDefault(known.filter((filter) => filter.id !== id));
    });
  }

  async delete(owner: FilterOwner, id: string): Promise<void> {
    await this.#changing(owner, (known) =>
      this.#changeOwn(known, id, { deleted_ms: this.#clock.now(), is_default: false }),
    );
  }

  /** The lock keeps the number of filters and of defaults within their bounds. */
  #changing(owner: FilterOwner, work: (known: readonly SavedFilter[]) => Promise<void>): Promise<void> {
    return this.#locks.run(`filters/${keyOf(owner)}`, async () => work(await this.list(owner)));
  }

  async #clearDefault(filters: readonly SavedFilter[]): Promise<void> {
    for (const { id, is_default } of filters)
      if (is_default) await this.#changeOwn(filters, id, { is_default: false });
  }

  async #changeOwn(known: readonly SavedFilter[], id: string, change: Partial<SavedFilter>): Promise<void> {
    const filter = known.find((one) => one.id === id);
    if (filter === undefined) throw new RequestRefused('not_found', 'Filter Not Found');
    await this.#records.change(id, (current) => ({
      next: { ...(current ?? filter), ...change },
      result: undefined,
    }));
  }
}

const keyOf = ({ project, user }: FilterOwner): string => `${project}/${user}`;
