/**
 * Kills a pager again and again while it pages: `node test/soak/page-kills.ts [kills] [alerts] [seed] [pagers]`. Two
 * pagers need Kafka, Redis and ClickHouse, in containers or with TEST_SERVICES=processes.
 */
import { randomBytes } from 'node:crypto';
import { killPager, killPagers } from '../serve/alerts/paging/kill-pager.ts';
import { startServices } from '../support/services/index.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const [kills = '500', alerts = '400', seed = '1', pagers = '1'] = process.argv.slice(2);
const options = { kills: Number(kills), alerts: Number(alerts), seed: Number(seed) };
const { faults, ...figures } = await (pagers === '2' ? killOneOfTwo() : killPager(options));
process.stdout.write(`${JSON.stringify(figures)}\n`);
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exit(faults.length === 0 ? 0 : 1);

async function killOneOfTwo() {
  using directory = temporaryDirectory();
  await using services = await startServices();
  const SECRETS_KEY = randomBytes(32).toString('base64');
  return await killPagers(options, services.environment({ DATA_DIR: directory.path, SECRETS_KEY }));
}
