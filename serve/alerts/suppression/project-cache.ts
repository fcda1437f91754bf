import { LRUCache } from 'lru-cache';
import type { KeyValue } from '../../../infra/ports.ts';
import { newLocator } from '../../accounts/secrets.ts';

interface ProjectCacheOptions<Value> {
  readonly keyValue: KeyValue;
  /** Prefix of the keys in the key-value store. */
  readonly name: string;
  /** Rows in memory, of all projects together. */
  readonly rowsMax: number;
  readonly rowsOf: (value: Value) => number;
  readonly load: (projectId: string) => Promise<Value>;
}

/** Reloads after this time even if the version is unchanged: a process may die between a write and the new version. */
const MISSED_MS_MAX = 60_000;

/**
 * Caches rows of projects for lookups by each batch of alerts. All processes share a version for each project in the
 * key-value store. A process reloads the rows when the version changes.
 */
export class ProjectCache<Value extends object> {
  readonly #options: ProjectCacheOptions<Value>;
  readonly #loaded: LRUCache<string, { readonly version: string; readonly value: Value }>;

  constructor(options: ProjectCacheOptions<Value>) {
    this.#options = options;
    this.#loaded = new LRUCache({
      ...{ maxSize: options.rowsMax, ttl: MISSED_MS_MAX },
      sizeCalculation: ({ value }) => options.rowsOf(value) + 1,
    });
  }

  async get(projectId: string): Promise<Value> {
    const loaded = this.#loaded.get(projectId);
    let version: string | null;
    try {
      // Read the version before the rows. If a change comes in between, its version is later, and the next caller reloads.
      version = await this.#options.keyValue.get(this.#keyOf(projectId));
    } catch (error) {
      // Stale rows are better than no decision.
      if (loaded !== undefined) return loaded.value;
      throw error;
    }
    if (loaded !== undefined && loaded.version === version) return loaded.value;
    version ??= await this.#begin(projectId);
    const value = await this.#options.load(projectId);
    this.#loaded.set(projectId, { version, value });
    return value;
  }

  /** Called after every durable change. */
  async invalidate(projectId: string): Promise<void> {
    await this.#options.keyValue.set(this.#keyOf(projectId), newLocator());
  }

  /** Sets a version if there is none, and returns the current one. */
  async #begin(projectId: string): Promise<string> {
    const key = this.#keyOf(projectId);
    await this.#options.keyValue.set(key, newLocator(), { onlyIfAbsent: true });
    return (await this.#options.keyValue.get(key)) ?? '';
  }

  #keyOf(projectId: string): string {
    return `alerts/${this.#options.name}/${projectId}`;
  }
}
