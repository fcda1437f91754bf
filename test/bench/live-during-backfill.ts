/**
 * `npx node test/bench/live-during-backfill.ts [blocks] [days]`: the time from a block of now to its row in the API, while
 * nothing else happens and while a history of many days is computed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { DAY_MS } from '../../infra/days.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { ingestLines } from '../support/pipeline.ts';
import { recordedLines } from '../support/recordings.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { BENCH_SETTINGS } from './history.ts';

const [blocks = 9000, days = 1500] = process.argv.slice(2).map(Number);
const CHAIN = 'polkadot';
const SAMPLES = 5;
const POLL_MS = 20;
const FIRST_DAY = Date.now() - (days + 10) * DAY_MS;
const templates = recordedLines('blocks').filter(({ chain }) => chain === CHAIN);

function blockAt(number: number, time: number) {
  const block = JSON.parse((templates[number % templates.length] as { line: string }).line);
  const isTime = ({ method }: { method: { pallet: string } }) => method.pallet === 'timestamp';
  block.extrinsics.find(isTime).args.now = String(Math.floor(time));
  const hash = (of: number) => `0x${of.toString(16).padStart(64, '0')}`;
  const line = { ...block, number: String(number), hash: hash(number), parentHash: hash(number - 1) };
  return { chain: CHAIN, line: JSON.stringify(line) };
}

using directory = temporaryDirectory();
const pipeline = await openPipeline(readConfig({ ...BENCH_SETTINGS, DATA_DIR: directory.path }));
const app = await buildServer(pipeline);
const today = new Date().toISOString().slice(0, 10);
let height = 100_000_000;
let told = 0;

async function liveBlock(): Promise<number> {
  const began = performance.now();
  await ingestLines(pipeline, [blockAt(++height, Date.now() - 1000)]);
  told++;
  for (;;) {
    const { body } = await app.inject({
      url: `/api/daily-tps?relay_chain=polkadot&chain=${CHAIN}&start_date=${today}`,
    });
    if (body.includes(`"num_blocks":${told}`)) return (performance.now() - began) / 1000;
    await pause(POLL_MS);
  }
}

async function liveBlocks(): Promise<string> {
  const times: number[] = [];
  for (let i = 0; i < SAMPLES; i++) times.push(await liveBlock());
  return times.map((seconds) => `${seconds.toFixed(1)} s`).join(', ');
}

await liveBlock();
console.log(`idle: ${await liveBlocks()}`);
await pipeline.aggregator.pauseComputation(() =>
  ingestLines(
    pipeline,
    Array.from({ length: blocks }, (_, i) => blockAt(i + 1, FIRST_DAY + (i / blocks) * days * DAY_MS)),
  ),
);
const began = performance.now();
let isOver = false;
const computed = pipeline.aggregator.waitUntilComputed().then(() => {
  isOver = true;
});
console.log(`while ${blocks} blocks of ${days} days are computed: ${await liveBlocks()}`);
console.log(isOver ? 'the backfill was over before' : 'the backfill still ran');
await computed;
console.log(`backfill: ${((performance.now() - began) / 1000).toFixed(0)} s`);
await app.close();
await pipeline.close();
