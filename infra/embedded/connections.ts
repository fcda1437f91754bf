import type { ClickHouseClient } from '@clickhouse/client';
import { storeError } from '../clickhouse/errors.ts';
import { ProductError } from '../errors.ts';
import { ignore } from '../ignore.ts';

/**
 * A pool of connections to chDB. A connection runs one query at a time; callers wait for a free one in order. A connection
 * is replaced after a failure, since the output of a cancelled query would precede the result of the next one.
 */
export class Connections {
  readonly #connect: () => ClickHouseClient;
  readonly #settings: string;
  readonly #free: ClickHouseClient[] = [];
  readonly #all = new Set<ClickHouseClient>();
  /** Connections that have received their settings. */
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
      // Not after `close`, since a new connection would open the directory again. The failure of the work is thrown.
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
