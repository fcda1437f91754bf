import { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import type { ExportTarget } from './target.ts';

const FORMAT = 1;
const sequence = z.string().regex(/^\d{1,20}$/);

const writtenShape = z.object({
  table: z.string(),
  date: z.iso.date(),
  /** Null if the day has no rows. */
  file: z
    .object({ path: z.string(), rows: z.int(), bytes: z.int(), sha256: z.string(), tag: z.string() })
    .nullable(),
  /** Sequence of the newest change of the day in the store. */
  changed: sequence,
  /** Sequence up to which the store had all changes. */
  loaded: sequence,
  /** Fingerprint of the file format, see `layoutOf`. */
  layout: z.string(),
});
/** The record of a written partition. `tag` is the ETag or its equivalent; another tag means another file. */
export type WrittenPartition = z.output<typeof writtenShape>;

const manifestShape = z.object({
  format: z.literal(FORMAT),
  relay_chain: z.string(),
  chain: z.string(),
  month: z.string(),
  partitions: z.array(writtenShape),
});

/** The scope of a manifest, small enough to rewrite it after each partition. */
interface ChainMonth {
  readonly relay_chain: string;
  readonly chain: string;
  readonly month: string;
}

/** Tools skip names that start with `_`. */
const pathOfManifest = ({ chain, month }: ChainMonth) => `_manifest/chain=${chain}/${month}.json`;

/** The record of the partitions of a chain and month that were written to a target. */
export class Manifest {
  readonly #target: ExportTarget;
  readonly #scope: ChainMonth;
  readonly #written: Map<string, WrittenPartition>;

  private constructor(target: ExportTarget, scope: ChainMonth, written: readonly WrittenPartition[]) {
    this.#target = target;
    this.#scope = scope;
    this.#written = new Map(written.map((one) => [keyOf(one), one]));
  }

  static async read(target: ExportTarget, scope: ChainMonth): Promise<Manifest> {
    const path = pathOfManifest(scope);
    const text = await target.read(path);
    if (text === null) return new Manifest(target, scope, []);
    try {
      return new Manifest(target, scope, manifestShape.parse(JSON.parse(text.toString('utf8'))).partitions);
    } catch {
      throw new ProductError(
        'usage',
        `${path} in ${target.location} is invalid or from another version: delete it, and the next export writes all files of its month again`,
      );
    }
  }

  find(table: string, date: string): WrittenPartition | undefined {
    return this.#written.get(keyOf({ table, date }));
  }

  async add(written: readonly WrittenPartition[]): Promise<void> {
    for (const one of written) this.#written.set(keyOf(one), one);
    const partitions = [...this.#written.values()].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    const content = { format: FORMAT, ...this.#scope, partitions };
    await this.#target.write(pathOfManifest(this.#scope), `${JSON.stringify(content, null, 1)}\n`);
  }
}

const keyOf = ({ table, date }: Pick<WrittenPartition, 'table' | 'date'>) => `${date} ${table}`;
