/**
 * How late incidents are, and how many alerts one webhook is told of in a second:
 * `node test/soak/alert-consequences.ts [alerts] [hanging hooks of another project]`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Receiver } from '../serve/alerts/receiver.ts';
import { Service, type Source } from '../serve/alerts/service.ts';

const [count = '600', hooks = '10'] = process.argv.slice(2);
const ALERTS = Number(count);
const WAIT_MS = 120_000;
const say = (text: string) => process.stdout.write(`${text}\n`);

const service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', LOG_LEVEL: 'warn' });
const ann = await service.person('ann');

async function until(holds: () => boolean | Promise<boolean>): Promise<number> {
  const started = performance.now();
  while (!(await holds())) {
    if (performance.now() - started > WAIT_MS) throw new Error('too late');
    await pause(20);
  }
  return performance.now() - started;
}

async function send(source: Source, more: object = {}): Promise<number> {
  const started = performance.now();
  const all = Array.from({ length: ALERTS }, (_, i) =>
    service.send(source, { title: `alert ${i}`, fingerprint: `f${i}`, ...more }),
  );
  for (const { status } of await Promise.all(all)) if (status !== 200) throw new Error(`status ${status}`);
  return performance.now() - started;
}

async function countIncidents({ project }: Source, state: string): Promise<number> {
  let found = 0;
  for (let page = 1; ; page++) {
    const { body, headers } = await service.api(
      ann,
      'GET',
      `/projects/${project}/incidents?per_page=100&page=${page}`,
    );
    found += body.filter((of: { state: string }) => state === '' || of.state === state).length;
    if (!headers['x-next-page']) return found;
  }
}

async function latenessOf(consequence: string): Promise<string> {
  const { body } = await service.app.inject('/metrics');
  return body
    .split('\n')
    .filter((line) => line.includes('lateness') && line.includes(`"${consequence}"`))
    .map((line) => line.replace(/^chain_metrics_alert_consequence_lateness_seconds_/, ''))
    .join(', ');
}

const automatic = await service.source(ann, await service.project(ann, { creates_incidents: true }));
say(`${ALERTS} alerts were accepted in ${(await send(automatic)).toFixed(0)} ms`);
say(
  `all have an incident ${(await until(async () => (await countIncidents(automatic, '')) === ALERTS)).toFixed(0)} ms later`,
);
await send(automatic, { end_time: '2026-11-21' });
say(
  `all are closed ${(await until(async () => (await countIncidents(automatic, 'closed')) === ALERTS)).toFixed(0)} ms after all are resolved`,
);
say(await latenessOf('incident'));

const hanging = await Receiver.open(() => null);
const blocked = await service.source(ann, await service.project(ann));
for (let i = 0; i < Number(hooks); i++) {
  await service.api(ann, 'POST', `/projects/${blocked.project}/hooks`, { url: hanging.url });
}
const quick = await Receiver.open();
const told = await service.source(ann, await service.project(ann));
await service.api(ann, 'POST', `/projects/${told.project}/hooks`, { url: quick.url });
await service.send(blocked, { title: 'hangs' });
await until(() => hanging.requests.length >= Number(hooks));

const started = performance.now();
await send(told);
await until(() => quick.accepted.length >= ALERTS);
const seconds = (performance.now() - started) / 1000;
const perSecond = (ALERTS / seconds).toFixed(0);
say(
  `one webhook was told of ${ALERTS} alerts in ${seconds.toFixed(1)} s, ${perSecond} a second, while ${hooks} hang`,
);
say(
  `${quick.requests.length - new Set(quick.requests.map(({ delivery }) => delivery)).size} requests were repeated`,
);
say(await latenessOf('webhook'));
quick.close();
hanging.close();
await service.close();
