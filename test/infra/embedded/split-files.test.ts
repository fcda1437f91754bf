import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { EmbeddedStore } from '../../../infra/embedded/store.ts';
import { readConfig } from '../../../serve/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const LIMITS = { memoryBytesMax: 2 ** 28 };

test('a split result has the bytes of each of its parts, and leaves no files', async () => {
  using directory = temporaryDirectory();
  const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory.path }));
  const rows = sql`SELECT number AS n, toDateTime64('2026-01-30 22:00:00', 3, 'UTC') + n AS time
    FROM numbers(20000)`;
  const day = sql`toString(toDate(time, 'UTC'))`;
  const parts = await store.split(sql`${rows} ORDER BY n DESC`, day, 'Parquet', LIMITS);
  expect([...parts.keys()].sort()).toEqual(['2026-01-30', '2026-01-31']);
  for (const [date, bytes] of parts) {
    const alone = sql`SELECT * FROM (${rows}) WHERE ${day} = ${date} ORDER BY n DESC`;
    expect(bytes.equals(await store.bytes(alone, 'Parquet')), date).toBe(true);
  }
  const failing = store.split(
    sql`SELECT throwIf(number > 5) AS n FROM numbers(9)`,
    sql`toString(n)`,
    'CSV',
    LIMITS,
  );
  await expect(failing).rejects.toMatchObject({ code: 'store_failed' });
  const left = readdirSync(directory.path, { recursive: true }).map(String);
  expect(left.filter((name) => name.endsWith('.part'))).toEqual([]);
  await store.close();
});
