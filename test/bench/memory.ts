/** Memory of the process after it has loaded a history, computed it and served it. */
import { setTimeout as wait } from 'node:timers/promises';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { openHistory, YEAR } from './history.ts';
import { type Figure, readSizes, report } from './measure.ts';

const GOAL_BYTES = 2 ** 30;
const ANSWERS = 200;
const sizes = readSizes();
const peak = { bytes: 0 };
const sampler = setInterval(() => {
  peak.bytes = Math.max(peak.bytes, process.memoryUsage.rss());
}, 50).unref();

const { pipeline, close } = await openHistory(sizes.extrinsics, sizes.history);
const app = await buildServer(pipeline);
const origin = await app.listen({ port: 0 });
for (let i = 0; i < ANSWERS; i++) {
  const day = new Date(Date.parse(YEAR.from) + (i % 300) * 86_400_000).toISOString().slice(0, 10);
  const answer = await fetch(`${origin}/api/daily-tps?relay_chain=polkadot&start_date=${day}`);
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}
// Long enough for merges to end and for the allocator to give back what it holds.
await wait(10_000);
clearInterval(sampler);
const resident = process.memoryUsage.rss();
await app.close();
await close();
const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
const figure: Figure = {
  work: `memory after ${sizes.extrinsics.toLocaleString('en')} extrinsics loaded and served`,
  peer: '',
  figure: mebibytes(resident),
  goal: `< ${mebibytes(GOAL_BYTES)}`,
  met: resident < GOAL_BYTES,
  details: [`peak, while loading: ${mebibytes(peak.bytes)}`],
};
report([figure]);
