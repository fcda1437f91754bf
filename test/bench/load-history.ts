/** Makes and computes the history in the directory that `--history` names, for a bench whose own memory counts. */
import { openHistory } from './history.ts';
import { readSizes } from './measure.ts';

const sizes = readSizes();
const { pipeline, close } = await openHistory(sizes.extrinsics, sizes.history);
await pipeline.aggregator.waitUntilComputed();
await close();
