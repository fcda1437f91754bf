import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ALERTS_TOPIC } from '../../aggregate/alerts/model/event.ts';
import { createPipeline } from '../../serve/compose.ts';
import { readConfig } from '../../serve/settings.ts';
import { openPipelineAt } from '../support/pipeline.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

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
  // Where the directory of the topic would be.
  mkdirSync(join(directory.path, 'log'), { recursive: true });
  writeFileSync(join(directory.path, 'log', ALERTS_TOPIC), '');
  await expect(pipeline.alerts()).rejects.toThrow(ALERTS_TOPIC);
  await pipeline.close();
  await expect(pipeline.runtime.store.run('SELECT 1')).rejects.toThrow('the store is closed');
});
