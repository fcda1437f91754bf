import { randomUUID } from 'node:crypto';
import { Lease } from '../../infra/coordination/lock.ts';
import type { KeyValue, Numbers } from '../../infra/ports.ts';

interface TableWritersOptions {
  readonly keyValue: KeyValue;
  readonly numbers: Numbers;
  readonly leaseMs: number;
}

/**
 * The computations that write rows of a table at this moment, in whatever process. Rows become visible in another
 * order than that of their versions: who reads what is newer than a version has to know which versions may yet come.
 */
export class TableWriters {
  readonly #options: TableWritersOptions;

  constructor(options: TableWritersOptions) {
    this.#options = options;
  }

  /** Writes rows under versions that are taken after its start. It is repeated when others may have taken it for ended. */
  async run<T>(table: string, write: (isRepeated: boolean) => Promise<T>): Promise<T> {
    const { keyValue, numbers, leaseMs } = this.#options;
    for (let isRepeated = false; ; isRepeated = true) {
      const member = `${await numbers.take(1)}/${randomUUID()}`;
      const lease = (await Lease.acquire(keyValue, keyOf(table), leaseMs, 0, member)) as Lease;
      let result: T;
      try {
        result = await write(isRepeated);
      } catch (error) {
        await lease.release().catch(() => undefined);
        throw error;
      }
      if (await lease.release()) return result;
    }
  }

  /** The highest version up to which all rows of these tables are visible, `version` at most, which was taken before. */
  async visibleUpTo(version: bigint, tables: Iterable<string>): Promise<bigint> {
    const members = await Promise.all(
      [...tables].map((table) => this.#options.keyValue.members(keyOf(table))),
    );
    const starts = members.flat().map((member) => BigInt(member.split('/')[0] as string));
    // `Math.min` takes no bigint.
    return [version, ...starts].sort((a, b) => (a < b ? -1 : 1))[0] as bigint;
  }
}

const keyOf = (table: string) => `writers/${table}`;
