import { readdir, readFile, rm } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { FORMATS, streamStatement } from '../clickhouse/settings.ts';
import { ignore } from '../ignore.ts';
import type { Format, StreamLimits } from '../ports.ts';
import { literal, type Sql } from '../sql.ts';

/** Placeholder that the engine replaces with the value of the partition expression. */
const VALUE = '{_partition_id}';

interface SplitResult {
  readonly statement: Sql;
  readonly by: Sql;
  readonly format: Format;
  readonly limits: StreamLimits;
}

/**
 * Lets the engine write a result into temporary files, one per value of an expression, and reads them. The next process
 * deletes files that a kill left behind.
 */
export async function splitFiles(
  temporaryFile: string,
  { statement, by, format, limits }: SplitResult,
  run: (query: string) => Promise<unknown>,
): Promise<ReadonlyMap<string, Buffer>> {
  const { name, settings } = FORMATS[format];
  const { dir, name: stem, ext } = parse(temporaryFile);
  const files = `file(${literal(join(dir, `${stem}-${VALUE}${ext}`))}, ${literal(name)})`;
  const written = async () => (await readdir(dir)).filter((name) => name.startsWith(`${stem}-`));
  try {
    await run(
      `INSERT INTO FUNCTION ${files} PARTITION BY ${by.text} ${streamStatement(statement.text, settings, limits)}`,
    );
    const found = new Map<string, Buffer>();
    for (const name of await written())
      found.set(name.slice(stem.length + 1, -ext.length), await readFile(join(dir, name)));
    return found;
  } finally {
    for (const name of await written().catch(ignore('store.split', [])))
      await rm(join(dir, name)).catch(ignore('store.split'));
  }
}
