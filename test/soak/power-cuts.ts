/**
 * Cuts the power of the disk of a process that ingests and computes, and of a server that takes alerts in, both with
 * `STORE_FSYNC`: `node test/soak/power-cuts.ts [cuts] [seed] [ext4|xfs]`. Needs root on Linux.
 */
import { killOften } from '../exactness/kills.ts';
import { deliverUnderKills } from '../serve/alerts/kills.ts';

const DELIVERIES_PER_CUT = 250;
const [cuts = '100', seed = '1', powerCutsOn = 'ext4'] = process.argv.slice(2);
const kills = Number(cuts);
const started = Date.now();
const seconds = () => ((Date.now() - started) / 1000).toFixed(0);
const tell = (text: string) => process.stdout.write(`\r${text}, ${seconds()} s`);

const blocks = await killOften({ kills, seed: Number(seed), powerCutsOn }, (soFar) =>
  tell(`blocks: ${soFar.kills} of ${cuts} cuts, ${soFar.stores} stores compared`),
);
process.stdout.write(`\n${JSON.stringify(blocks.during)}, ${blocks.stores} stores compared\n`);
const alerts = await deliverUnderKills(
  { deliveries: DELIVERIES_PER_CUT * kills, kills, senders: 32, seed: Number(seed), powerCutsOn },
  (done, struck) => tell(`alerts: ${struck} of ${cuts} cuts, ${done} deliveries`),
);
const { faults: ofAlerts, ...figures } = alerts;
process.stdout.write(`\n${JSON.stringify(figures)}, ${seconds()} s\n`);
const faults = [...blocks.faults, ...ofAlerts];
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
