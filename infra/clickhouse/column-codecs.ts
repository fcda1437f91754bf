import type { Store } from '../ports.ts';
import { DATABASE, ident, raw, sql } from './sql.ts';
import type { Table } from './table.ts';

const DECLARED = /CODEC\(.*\)$/;

/** As the engine tells it: with the level of ZSTD, and the size of what Delta subtracts. */
const bare = (codec: string) => codec.replaceAll('ZSTD(1)', 'ZSTD').replaceAll(/Delta\(\d+\)/g, 'Delta');

/**
 * Gives the columns of tables that earlier versions stored the codecs that are declared now. Only their definitions
 * change: merges write what is stored in the new ones.
 */
export async function alignCodecs(store: Store, tables: readonly Table[]): Promise<void> {
  const stored = await store.rows<{ table: string; name: string; codec: string }>(
    sql`SELECT table, name, compression_codec AS codec FROM system.columns WHERE database = ${DATABASE}`,
  );
  const live = new Map(stored.map(({ table, name, codec }) => [`${table}.${name}`, bare(codec)]));
  for (const { name, engine, columns } of tables) {
    if (engine === 'Null') continue;
    for (const [column, type] of Object.entries(columns)) {
      const [codec] = DECLARED.exec(type) ?? [];
      const before = live.get(`${name}.${column}`);
      if (codec === undefined || before === undefined || before === codec) continue;
      await store.run(
        sql`ALTER TABLE ${ident(DATABASE)}.${ident(name)} MODIFY COLUMN ${ident(column)} ${raw(codec)}`,
      );
    }
  }
}
