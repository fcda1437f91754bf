/** Delivers alerts to servers over Kafka, Redis and ClickHouse while all of these come and go: `node test/soak/alert-chaos.ts [deliveries] [happenings] [seed]`. */

import { Random } from '../../ingest/demo/random.ts';
import { deliverInChaos, HAPPENINGS, type Happening } from '../distributed/alert-chaos.ts';

const [deliveries = '100000', happenings = '40', seed = '1'] = process.argv.slice(2);
const started = Date.now();
const seconds = () => ((Date.now() - started) / 1000).toFixed(0);
const random = new Random(Number(seed));
const named = Object.keys(HAPPENINGS) as Happening[];

const report = await deliverInChaos({
  deliveries: Number(deliveries),
  senders: 32,
  seed: Number(seed),
  // Half of them kill.
  happenings: Array.from({ length: Number(happenings) }, () =>
    random.chance(0.5) ? (named[random.whole(0, 1)] as Happening) : random.pick(named),
  ),
  onStep: (done, happened) =>
    process.stdout.write(
      `\r${done} of ${deliveries} deliveries, ${happened} of ${happenings} happenings, ${seconds()} s`,
    ),
});
const { faults, ...figures } = report;
process.stdout.write(`\n${JSON.stringify(figures)}, ${seconds()} s\n`);
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exit(faults.length === 0 ? 0 : 1);
