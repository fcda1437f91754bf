import { expect, it } from 'vitest';
import { createPipeline } from '../../../../serve/application/compose/compose.ts';
import { readConfig } from '../../../../serve/settings/settings.ts';
import { openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

it('a process whose store does not tell its newest number at first asks again with the next load', async () => {
  using directory = temporaryDirectory();
  const pipeline = await createPipeline(readConfig({ DATA_DIR: directory.path }));
  // There are no tables yet.
  await expect(pipeline.loadedUpTo()).rejects.toThrow('UNKNOWN');
  await pipeline.start();
  expect(await pipeline.loadedUpTo()).toBeGreaterThan(0n);
  await pipeline.close();
});

it('a process whose alerts do not start closes its store all the same', async () => {
  using directory = temporaryDirectory();
  const pipeline = await openPipelineAt(directory.path);
  await pipeline.runtime.log.close();
  await expect(pipeline.alerts()).rejects.toThrow('database is not open');
  await pipeline.close();
  await expect(pipeline.runtime.store.run('SELECT 1')).rejects.toThrow('the store is closed');
});
