/** Delivers alerts to a server that is killed again and again: `node test/soak/alert-kills.ts [deliveries] [kills] [seed]`. */
import { deliverUnderKills } from '../serve/alerts/kills.ts';

const [deliveries = '100000', kills = '25', seed = '1'] = process.argv.slice(2);
const started = Date.now();
const seconds = () => ((Date.now() - started) / 1000).toFixed(0);

const outcome = await deliverUnderKills(
  { deliveries: Number(deliveries), kills: Number(kills), senders: 32, seed: Number(seed) },
  (done, struck) =>
    process.stdout.write(`\r${done} of ${deliveries} deliveries, ${struck} kills, ${seconds()} s`),
);
const { faults, ...figures } = outcome;
process.stdout.write(`\n${JSON.stringify(figures)}, ${seconds()} s\n`);
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
