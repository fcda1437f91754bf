/** Kills a process that ingests and computes again and again: `node test/soak/kills.ts [kills] [seed]`. */
import { killOften } from '../exactness/kills.ts';

const [kills = '1000', seed = '1'] = process.argv.slice(2);
const started = Date.now();
const seconds = () => ((Date.now() - started) / 1000).toFixed(0);

const report = await killOften({ kills: Number(kills), seed: Number(seed) }, (soFar) => {
  process.stdout.write(`\r${soFar.kills} of ${kills} kills, ${soFar.stores} stores compared, ${seconds()} s`);
});
process.stdout.write(
  `\n${JSON.stringify(report.during)}, ${report.stores} stores compared, ${seconds()} s\n`,
);
for (const fault of report.faults) process.stdout.write(`${fault}\n`);
process.exitCode = report.faults.length === 0 ? 0 : 1;
