/**
 * One source floods a project with deliveries that differ all, while another project goes on sending: how many requests
 * a second the other gets answered, at least: `npx node test/soak/alert-flood.ts [alerts]`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startAlertLoad } from '../bench/alert-load.ts';
import { KilledServer } from '../serve/alerts/server-to-kill.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ITEMS = 10;
const CONNECTIONS = 32;
const WINDOW_MS = 3000;
const REQUESTS_MIN = 500;

interface Flood {
  readonly url: string;
  readonly key: string;
  readonly alerts: number;
}

/** Posts deliveries as fast as they are answered; whatever the answer is, the next one differs. */
async function flood({ url, key, alerts }: Flood): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  let sent = 0;
  const post = async () => {
    while (sent < alerts) {
      const first = sent;
      sent += ITEMS;
      const items = Array.from({ length: ITEMS }, (_, i) => ({
        status: 'firing',
        labels: { alertname: 'Flood' },
        annotations: {},
        startsAt: new Date(Date.UTC(2026, 0, 1) + first + i).toISOString(),
        endsAt: '0001-01-01T00:00:00Z',
        generatorURL: 'http://p/graph',
        fingerprint: `08dcd0f670d4fc4${i}`,
      }));
      const body = JSON.stringify({
        ...{
          receiver: 'rx',
          status: 'firing',
          alerts: items,
          groupLabels: {},
          commonLabels: {},
          version: '4',
        },
        ...{ commonAnnotations: {}, externalURL: 'http://a', groupKey: '{}:{}', truncatedAlerts: 0 },
      });
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const reply = await fetch(url, { method: 'POST', headers, body });
      await reply.arrayBuffer();
      statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, post));
  return statuses;
}

if (process.argv[2] === '--flood') {
  process.on('message', async (options: Flood) => {
    process.send?.(await flood(options));
    process.exit(0);
  });
} else {
  const alerts = Number(process.argv[2] ?? 1_100_000);
  using directory = temporaryDirectory();
  const server = new KilledServer(directory.path, {});
  await server.start();
  const { token, targets } = server.facts;
  const [, flooded] = targets;
  const api = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const reply = await fetch(`${server.address}/api/v4${path}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    });
    return (await reply.json()) as { id: number; url: string; authorization_key: string };
  };
  const { id } = await api('/projects', { name: 'Other' });
  const other = await api(`/projects/${id}/integrations`, { type: 'PROMETHEUS', name: 'Other' });
  const flooder = fork(fileURLToPath(import.meta.url), ['--flood']);
  let statuses: Record<number, number> | undefined;
  const ended = once(flooder, 'message').then(([found]) => {
    statuses = found;
  });
  flooder.send({ url: `${server.address}${flooded?.path}`, key: flooded?.key, alerts });
  const load = startAlertLoad();
  const rates: number[] = [];
  const began = Date.now();
  while (statuses === undefined) {
    const { perSecond } = await load.post({
      ...{ port: Number(new URL(server.address).port), path: new URL(other.url).pathname },
      ...{
        key: other.authorization_key,
        connections: CONNECTIONS,
        milliseconds: WINDOW_MS,
        shape: 'webhook',
      },
    });
    rates.push(perSecond);
  }
  await ended;
  load.stop();
  const worst = Math.min(...rates);
  process.stdout.write(
    `${alerts} alerts in ${Math.round((Date.now() - began) / 1000)} s, answered ${JSON.stringify(statuses)}; ` +
      `others got ${Math.round(worst)} requests a second at least, of ${rates.length} windows; at least ${REQUESTS_MIN} wanted\n`,
  );
  process.exitCode = worst >= REQUESTS_MIN ? 0 : 1;
  await server.end();
}
