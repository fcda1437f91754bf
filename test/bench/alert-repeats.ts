/**
 * One source repeats one alert again and again, ten to a request:
 * `node --expose-gc test/bench/alert-repeats.ts [alerts] [window]`.
 * Tells memory, disk and log at each tenth: all but the kept events stay as they are. `window` is the setting
 * ALERT_RETRY_WINDOW_SECONDS; 0 counts every repeat.
 */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DeliveryRequest } from '../../aggregate/alerts/model/event.ts';
import { sql } from '../../infra/sql.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { firing, prometheusBody } from '../serve/alerts/made.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const [alertsAsked = '1000000', window = '0'] = process.argv.slice(2);
const PER_DELIVERY = 10;
const SENDERS = 64;
const TENTHS = 10;
const MIB = 2 ** 20;

/** Files come and go while it looks. */
const megabytesIn = (directory: string): number =>
  Number(spawnSync('du', ['-sk', directory]).stdout.toString().split('\t')[0]) / 1024;

using directory = temporaryDirectory();
const pipeline = await openPipeline(
  readConfig({ DATA_DIR: directory.path, ALERT_RETRY_WINDOW_SECONDS: window }),
);
const alerts = await pipeline.alerts();
const given: DeliveryRequest = {
  project: 1,
  integration: 'source',
  endpoint: 'prometheus',
  mapping: null,
  sender_rules: null,
  heartbeat_matchers: '',
  groups_by_payload: true,
  idempotency_key: '',
};
const body = Buffer.from(
  JSON.stringify(
    prometheusBody(
      Array.from({ length: PER_DELIVERY }, (_, i) => firing({ startsAt: `2026-11-21T03:10:2${i}Z` })),
    ),
  ),
);
const deliveries = Math.ceil(Number(alertsAsked) / PER_DELIVERY);
const logMegabytes = () =>
  ['log.sqlite', 'log.sqlite-wal'].reduce(
    (sum, name) => sum + statSync(join(directory.path, name)).size / MIB,
    0,
  );

process.stdout.write('alerts     per second   process MiB   heap MiB   data MiB   log MiB\n');
let done = 0;
for (let tenth = 1; tenth <= TENTHS; tenth++) {
  const until = Math.round((deliveries * tenth) / TENTHS);
  const [began, from] = [performance.now(), done];
  const send = async () => {
    while (done < until) {
      done++;
      await alerts.deliver(given, body, alerts.parse(given, body));
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
  await alerts.waitUntilWritten();
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const rate = ((done - from) * PER_DELIVERY * 1000) / (performance.now() - began);
  const figures = [rss / MIB, heapUsed / MIB, megabytesIn(directory.path), logMegabytes()];
  process.stdout.write(
    `${String(done * PER_DELIVERY).padEnd(11)}${rate.toFixed(0).padEnd(13)}${figures.map((one) => one.toFixed(1).padEnd(12)).join(' ')}\n`,
  );
}
const [row] = await pipeline.runtime.store.rows<{ events: number; alerts: number }>(
  sql`SELECT sum(events) AS events, count() AS alerts FROM chain_metrics.alerts FINAL`,
);
process.stdout.write(`${row?.events} counted in ${row?.alerts} alert\n`);
await pipeline.close();
