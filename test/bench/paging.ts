/** How soon a message of a new alert is accepted, from the answer to its sender on: `npx node test/bench/paging.ts`. */
import { setTimeout as pause } from 'node:timers/promises';
import { PageReceiver, Team } from '../serve/alerts/paging/team.ts';
import { Service } from '../serve/alerts/service.ts';
import { report } from './measure.ts';

const ALERTS = 100;
const P95_MS_MAX = 2000;
const REST_MS = 100;

const service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', PAGE_BUNDLE_SECONDS: '0' });
const ann = await service.person('ann');
const receiver = await PageReceiver.open();
const team = await Team.open(service, ann, { steps: [{ channels: [receiver.url], delay_minutes: 60 }] });
const times: number[] = [];
for (let i = 0; i < ALERTS; i++) {
  const { status } = await service.send(team.source, { title: `Trouble ${i}`, fingerprint: `f${i}` });
  if (status !== 200) throw new Error(`answered with ${status}`);
  const answered = Date.now();
  while (receiver.received.length <= i) await pause(2);
  times.push((receiver.received[i]?.at ?? 0) - answered);
  await pause(REST_MS);
}
times.sort((a, b) => a - b);
const at = (part: number) => times[Math.floor((times.length - 1) * part)] ?? 0;
report([
  {
    work: 'from the answer to a new alert to the accepted message',
    peer: '',
    figure: `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, slowest ${at(1)} ms`,
    goal: `p95 <= ${P95_MS_MAX} ms`,
    met: at(0.95) <= P95_MS_MAX,
  },
]);
receiver.close();
await service.close();
