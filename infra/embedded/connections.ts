import type { ClickHouseClient } from '@clickhouse/client';
import { storeError } from '../clickhouse/errors.ts';
import { ProductError } from '../errors.ts';
import { ignore } from '../ignore.ts';

/**
 * Connections to chDB, each of which runs one query at a time; work waits for a free one in its order. A connection
 * whose query failed is replaced: what a cancelled query had made would stand before the result of the next one.
 */
export class Connections {
  readonly #connect: () => ClickHouseClient;
  readonly #settings: string;
  readonly #free: ClickHouseClient[] = [];
  readonly #all = new Set<ClickHouseClient>();
  /** Those that have their settings, which a connection keeps. */
  readonly #ready = new WeakSet<ClickHouseClient>();
  readonly #waiting: ((client: ClickHouseClient) => void)[] = [];
  #isClosed = false;

  constructor(connect: () => ClickHouseClient, count: number, settings: readonly string[]) {
    this.#connect = connect;
    this.#settings = settings.join(', ');
    for (let i = 0; i < count; i++) this.#free.push(this.#open());
  }

  async use<T>(work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
    let client =
      this.#free.pop() ?? (await new Promise<ClickHouseClient>((take) => this.#waiting.push(take)));
    try {
      if (this.#isClosed) throw new ProductError('store_failed', 'the store is closed');
      if (!this.#ready.has(client)) await this.#prepare(client);
      return await work(client);
    } catch (error) {
      // A connection that is opened later would open the directory again. The failure of the work is thrown.
      if (!this.#isClosed) {
        this.#all.delete(client);
        await client.close().catch(ignore('store.connection'));
        if (!this.#isClosed) client = this.#open();
      }
      throw error;
    } finally {
      const next = this.#waiting.shift();
      if (next) next(client);
      else this.#free.push(client);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const client of this.#all) await client.close();
  }

  async #prepare(client: ClickHouseClient): Promise<void> {
    await client.command({ query: `SET ${this.#settings}` }).catch((error) => {
      throw storeError(error);
    });
    this.#ready.add(client);
  }

  #open(): ClickHouseClient {
    const client = this.#connect();
    this.#all.add(client);
    return client;
  }
}
