/**
 * Takes in batches until all are acknowledged and computed, and says on its output how far it is. Made to be
 * killed: what it had acknowledged stands in a file of its own, and a new process goes on behind it.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { clockFrom, ingestLines, openPipelineAt } from '../support/pipeline.ts';
import { lostFrom } from './acknowledged.ts';
import { byChain, type Delivery, enveloped } from './deliveries.ts';

const [directory = '', batchesFile = '', acknowledgedFile = '', now = '', STORE_FSYNC = ''] =
  process.argv.slice(2);
const batches = JSON.parse(readFileSync(batchesFile, 'utf8')) as Delivery[][];
const acknowledged = existsSync(acknowledgedFile)
  ? readFileSync(acknowledgedFile, 'utf8').split('\n').filter(Boolean).length
  : 0;

const say = (word: string) => process.stdout.write(`${word}\n`);

say('opening');
const pipeline = await openPipelineAt(directory, clockFrom(now), { STORE_FSYNC });
const lost = await lostFrom(pipeline, batches, acknowledged);
for (const what of lost) say(`lost ${what}`);
for (const { file, lost: damage } of pipeline.runtime.damage.list()) say(`lost ${damage} (${file})`);
for (const [index, batch] of batches.entries()) {
  if (index < acknowledged) continue;
  say('ingesting');
  // One source a batch for most, and one a chain for some.
  await ingestLines(pipeline, index % 4 === 3 ? byChain(batch) : enveloped(batch));
  appendFileSync(acknowledgedFile, `${index}\n`);
  say('computing');
  if (index % 2 === 0) await pipeline.aggregator.waitUntilComputed();
}
await pipeline.aggregator.waitUntilComputed();
say('done');
await pipeline.close();
