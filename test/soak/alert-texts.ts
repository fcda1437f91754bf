/**
 * Deliveries of a megabyte whose one text fills the body: `node test/soak/alert-texts.ts [deliveries]`. Tells the memory
 * of a process that receives them, of one that starts over them, and of one that starts over the alerts of a version
 * that stored such texts whole. Every process has the default settings.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { DeliveryRequest } from '../../aggregate/alerts/model/event.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { firing, prometheusBody } from '../serve/alerts/made.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const PHASES = ['receive', 'start over them', 'start over earlier alerts'] as const;
type Phase = (typeof PHASES)[number];
const TEXT_BYTES = 1_000_000;
const SENDERS = 16;
const MIB = 2 ** 20;

const [deliveries = '1487', phase, directory] = process.argv.slice(2);
if (phase === undefined) runAll();
else await run(phase as Phase, directory as string, Number(deliveries));

function runAll(): void {
  using made = temporaryDirectory();
  for (const one of PHASES) {
    const script = fileURLToPath(import.meta.url);
    const { status } = spawnSync(process.execPath, [script, deliveries, one, made.path], {
      stdio: 'inherit',
    });
    if (status !== 0) throw new Error(`"${one}" ended with ${status}`);
  }
}

async function run(one: Phase, DATA_DIR: string, count: number): Promise<void> {
  let peak = 0;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  const began = performance.now();
  const pipeline = await openPipeline(readConfig({ DATA_DIR }));
  const alerts = await pipeline.alerts();
  const opened = process.memoryUsage.rss();
  const request: DeliveryRequest = {
    ...{
      project: 1,
      integration: 'source',
      endpoint: 'prometheus',
      mapping: null,
      sender_rules: null,
      heartbeat_matchers: '',
    },
    ...{ groups_by_payload: true, idempotency_key: '' },
  };
  let sent = 0;
  let grouped = 0;
  const send = async (): Promise<void> => {
    while (sent < count) {
      const body = bodyOf(sent++, one);
      const { outcomes } = await alerts.deliver(request, body, alerts.parse(request, body));
      if (outcomes[0] === 'grouped') grouped++;
    }
  };
  await Promise.all(Array.from({ length: one === 'receive' ? SENDERS : 1 }, send));
  await alerts.waitUntilWritten();
  const now = process.memoryUsage.rss();
  const { cachedBytes } = alerts.figures;
  const highest = peak;
  if (one === 'start over them') await storeWhole(pipeline.runtime.store);
  await pipeline.close();
  clearInterval(sampler);
  const mebibytes = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;
  process.stdout.write(
    `${one.padEnd(26)} opened ${mebibytes(opened)}, then ${mebibytes(now)}, peak ${mebibytes(highest)}, cache ${mebibytes(cachedBytes)}; ` +
      `${grouped} of ${count} were repeats; ${((performance.now() - began) / 1000).toFixed(0)} s\n`,
  );
  if (one !== 'receive' && grouped !== count) throw new Error('an alert was not found again');
}

/** Later phases repeat the alerts by small bodies. */
function bodyOf(index: number, one: Phase): Buffer {
  const fingerprint = index.toString(16).padStart(16, '0');
  const startsAt = new Date(Date.UTC(2026, 0, 1 + PHASES.indexOf(one))).toISOString();
  const long = one === 'receive' ? 'x'.repeat(TEXT_BYTES) : '';
  const annotations = { title: `Alert ${index}`, platform_incident_markdown: long };
  return Buffer.from(JSON.stringify(prometheusBody([firing({ fingerprint, startsAt, annotations })])));
}

/** Gives stored alerts a Markdown that is longer than one of a request may be. */
function storeWhole(store: { run(statement: string): Promise<void> }): Promise<void> {
  const half = TEXT_BYTES / 2;
  return store.run(
    `INSERT INTO chain_metrics.alerts
      SELECT * REPLACE (concat(lower(hex(randomString(${half / 2}))), repeat('x', ${half})) AS incident_markdown)
      FROM chain_metrics.alerts FINAL
      SETTINGS max_block_size = 64, max_insert_block_size = 64, min_insert_block_size_rows = 1`,
  );
}
