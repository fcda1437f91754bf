/** Kills a pager again and again while it pages: `node test/soak/page-kills.ts [kills] [alerts] [seed]`. */
import { killPager } from '../serve/alerts/paging/kill-pager.ts';

const [kills = '500', alerts = '400', seed = '1'] = process.argv.slice(2);
const { faults, ...figures } = await killPager({
  kills: Number(kills),
  alerts: Number(alerts),
  seed: Number(seed),
});
process.stdout.write(`${JSON.stringify(figures)}\n`);
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
