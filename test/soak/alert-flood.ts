/**
 * One source floods a project with deliveries that differ all, while another project goes on sending: how many requests
 * a second the other gets answered, at least: `npx node test/soak/alert-flood.ts [alerts]`.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { KilledServer } from '../serve/alerts/server-to-kill.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CONNECTIONS = 32;
const WINDOW_MS = 3000;
const REQUESTS_MIN = 500;

interface Flood {
  readonly url: string;
  readonly key: string;
  readonly alerts: number;
  /** Alerts of a request. */
  readonly items: number;
}

/** Posts deliveries as fast as they are answered, and counts the answers; each delivery differs. */
async function flood({ url, key, alerts, items: count }: Flood, statuses: Record<number, number>) {
  let sent = 0;
  const post = async () => {
    while (sent < alerts) {
      const first = sent;
      sent += count;
      const items = Array.from({ length: count }, (_, i) => ({
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
}

if (process.argv[2] === '--flood') {
  process.on('message', async (options: Flood) => {
    const statuses: Record<number, number> = {};
    setInterval(() => process.send?.({ statuses }), WINDOW_MS);
    await flood(options, statuses);
    process.send?.({ statuses, isDone: true }, () => process.exit(0));
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
  const start = (options: Flood) => {
    const child = fork(fileURLToPath(import.meta.url), ['--flood']);
    child.send(options);
    return child;
  };
  const began = Date.now();
  const flooder = start({
    url: `${server.address}${flooded?.path}`,
    key: flooded?.key ?? '',
    alerts,
    items: 10,
  });
  const sender = start({
    ...{ url: `${server.address}${new URL(other.url).pathname}`, key: other.authorization_key },
    ...{ alerts: Number.MAX_SAFE_INTEGER, items: 1 },
  });
  const rates: number[] = [];
  let answered = 0;
  sender.on('message', ({ statuses }: { statuses: Record<number, number> }) => {
    const now = statuses[200] ?? 0;
    rates.push(((now - answered) * 1000) / WINDOW_MS);
    answered = now;
  });
  const statuses = await new Promise((done) => {
    flooder.on('message', (found: { statuses: object; isDone?: true }) => {
      if (found.isDone) done(found.statuses);
    });
  });
  sender.kill();
  const worst = Math.min(...rates);
  process.stdout.write(`${rates.map((rate) => Math.round(rate)).join(' ')}\n`);
  process.stdout.write(
    `${alerts} alerts in ${Math.round((Date.now() - began) / 1000)} s, answered ${JSON.stringify(statuses)}; ` +
      `others got ${Math.round(worst)} requests a second at least, of ${rates.length} windows; at least ${REQUESTS_MIN} wanted\n`,
  );
  process.exitCode = worst >= REQUESTS_MIN ? 0 : 1;
  await server.end();
}
