import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EmbeddedStore } from '../../../infra/embedded/store.ts';
import { sql } from '../../../infra/sql.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const LIMITS = { memoryBytesMax: 2 ** 28 };

test('a split result leaves no files, nor does one that fails', async () => {
  using directory = temporaryDirectory();
  const store = await EmbeddedStore.open(readConfig({ DATA_DIR: directory.path }));
  await store.split(sql`SELECT number AS n FROM numbers(3)`, sql`toString(n)`, 'CSV', LIMITS);
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
