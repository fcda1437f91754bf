import { it } from 'vitest';
import { EmbeddedStore } from '../../../infra/embedded/store.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const openAt = ({ path }: { path: string }) => EmbeddedStore.open(readConfig({ DATA_DIR: path }));

it('a store that is closed during a statement no longer uses its directory afterwards', async () => {
  using first = temporaryDirectory();
  using second = temporaryDirectory();
  const store = await openAt(first);
  const written = store.run(
    'CREATE TABLE chain_metrics.t ENGINE = MergeTree ORDER BY s AS SELECT sleepEachRow(0.01) AS s FROM numbers(100)',
  );
  // The statement has its connection.
  await new Promise((later) => setImmediate(later));
  await store.close();
  // chDB refuses this while a statement runs in the other directory.
  await (await openAt(second)).close();
  await written;
});
