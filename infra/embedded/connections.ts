import type { ClickHouseClient } from '@clickhouse/client';

/**
 * Connections to chDB, each of which runs one query at a time; work waits for a free one in its order. A connection
 * whose query failed is replaced: what a cancelled query had made would stand before the result of the next one.
 */
export class Connections {
  readonly #connect: () => ClickHouseClient;
  readonly #free: ClickHouseClient[] = [];
  readonly #all = new Set<ClickHouseClient>();
  readonly #waiting: ((client: ClickHouseClient) => void)[] = [];

  constructor(connect: () => ClickHouseClient, count: number) {
    this.#connect = connect;
    for (let i = 0; i < count; i++) this.#free.push(this.#open());
  }

  async use<T>(work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
    let client =
      this.#free.pop() ?? (await new Promise<ClickHouseClient>((take) => this.#waiting.push(take)));
    try {
      return await work(client);
    } catch (error) {
      this.#all.delete(client);
      await client.close().catch(() => undefined);
      client = this.#open();
      throw error;
    } finally {
      const next = this.#waiting.shift();
      if (next) next(client);
      else this.#free.push(client);
    }
  }

  async close(): Promise<void> {
    for (const client of this.#all) await client.close();
  }

  #open(): ClickHouseClient {
    const client = this.#connect();
    this.#all.add(client);
    return client;
  }
}
