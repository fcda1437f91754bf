/** Memory of a process that serves a history, which another process has made and computed. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openHistory, YEAR } from './history.ts';
import { type Figure, readSizes, report } from './measure.ts';

const GOAL_BYTES = 2 ** 30;
const ANSWERS = 200;
const sizes = readSizes();
using directory = temporaryDirectory();
const history = sizes.history ?? join(directory.path, 'history');
const loading = ['--extrinsics', String(sizes.extrinsics), '--history', history];
const script = join(import.meta.dirname, 'load-history.ts');
const { status } = spawnSync(process.execPath, [script, ...loading], { stdio: 'inherit' });
if (status !== 0) throw new Error('the history could not be made');
const peak = { bytes: 0 };
const sampler = setInterval(() => {
  peak.bytes = Math.max(peak.bytes, process.memoryUsage.rss());
}, 50).unref();

const { pipeline, close } = await openHistory(sizes.extrinsics, history);
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
  work: `memory of serving ${sizes.extrinsics.toLocaleString('en')} extrinsics`,
  peer: '',
  figure: mebibytes(resident),
  goal: `< ${mebibytes(GOAL_BYTES)}`,
  met: resident < GOAL_BYTES,
  details: [`peak: ${mebibytes(peak.bytes)}`],
};
report([figure]);
