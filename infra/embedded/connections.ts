import type { ClickHouseClient } from '@clickhouse/client';

/** Connections to chDB, each of which runs one query at a time; work waits for a free one in its order. */
export class Connections {
  readonly #free: ClickHouseClient[] = [];
  readonly #all: ClickHouseClient[] = [];
  readonly #waiting: ((client: ClickHouseClient) => void)[] = [];

  constructor(connect: () => ClickHouseClient, count: number) {
    this.#all.push(...Array.from({ length: count }, connect));
    this.#free.push(...this.#all);
  }

  async use<T>(work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
    const client =
      this.#free.pop() ?? (await new Promise<ClickHouseClient>((take) => this.#waiting.push(take)));
    try {
      return await work(client);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(client);
      else this.#free.push(client);
    }
  }

  async close(): Promise<void> {
    for (const client of this.#all) await client.close();
  }
}
