import type { Schema } from '../../infra/clickhouse/schema.ts';
import type { Store } from '../../infra/ports.ts';
import { DATABASE, sql } from '../../infra/sql.ts';
import { bareType } from '../../infra/table.ts';

/** Differences between the live and the declared schema, as messages. */
export async function schemaDrift(store: Store, schema: Schema): Promise<string[]> {
  const live = await store.rows<{ table: string; name: string; type: string }>(
    sql`SELECT table, name, type FROM system.columns WHERE database = ${DATABASE} ORDER BY table, position`,
  );
  const listed = (columns: [string, string][]) => columns.map((column) => column.join(' ')).join(', ');
  return [...schema.tables, ...schema.derived].flatMap((table) => {
    const declared = listed(Object.entries(table.columns).map(([name, type]) => [name, bareType(type)]));
    const found = listed(live.filter((column) => column.table === table.name).map((c) => [c.name, c.type]));
    return squeeze(declared) === squeeze(found) ? [] : [`${table.name}: declared ${declared}; live ${found}`];
  });
}

const squeeze = (text: string) => text.replaceAll(/[\s`]+/g, '');
