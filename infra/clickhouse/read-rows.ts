import type { ClickHouseClient } from '@clickhouse/client';
import { type Format, readAll } from '../ports.ts';
import { FORMATS } from './settings.ts';

export async function readRows<Row>(client: ClickHouseClient, query: string): Promise<Row[]> {
  const result = await client.query({ query, format: 'JSONEachRow' });
  return result.json<Row>();
}

/** Returns the result of a query in a format. The caller adds the settings of the format to the statement. */
export async function readBytes(client: ClickHouseClient, query: string, format: Format): Promise<Buffer> {
  return readAll((await client.exec({ query: `${query} FORMAT ${FORMATS[format].name}` })).stream);
}
