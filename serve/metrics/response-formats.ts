import type { Format } from '../../infra/ports.ts';

/** The formats of an answer by their name in `format=` and on the command line. */
export const RESPONSE_FORMATS: Readonly<Record<string, { format: Format; type: string }>> = {
  json: { format: 'JSON', type: 'application/json; charset=utf-8' },
  csv: { format: 'CSV', type: 'text/csv; charset=utf-8; header=present' },
  ndjson: { format: 'NDJSON', type: 'application/x-ndjson; charset=utf-8' },
  parquet: { format: 'Parquet', type: 'application/vnd.apache.parquet' },
  arrow: { format: 'Arrow', type: 'application/vnd.apache.arrow.stream' },
};
