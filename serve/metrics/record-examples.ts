import { readExamples } from '../http/examples.ts';

const rows = readExamples(new URL('examples.ndjson', import.meta.url));

/** The example row of a record, for the OpenAPI document. */
export function exampleRow(record: string): Readonly<Record<string, unknown>> {
  return (rows.get(record)?.answer ?? {}) as Readonly<Record<string, unknown>>;
}

/** A value of a parameter that matches this row. */
export function exampleValue(record: string, parameter: string): unknown {
  const row = exampleRow(record);
  if (parameter === 'start_date' || parameter === 'end_date') return row.date ?? row.month;
  if (parameter === 'addresses') return [row.contract_address ?? row.owner];
  return row[parameter];
}
