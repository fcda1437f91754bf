import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import type { Random } from '../../../ingest/demo/random.ts';

const FINGERPRINTS = Array.from({ length: 12 }, (_, i) =>
  (0x08dcd0f670d40000 + i).toString(16).padStart(16, '0').slice(-16),
);
const STARTS = ['2026-11-21T03:10:27.487Z', '2026-11-21T03:20:00Z'];
const ENDS = ['2026-11-21T04:00:00Z', '0001-01-01T00:00:00Z'];

/** Rules of senders of `randomRuledBody`. */
export const STATE_RULES: SenderRules = {
  status: { path: ['state'], resolved: ['OK'], acknowledged: ['seen'], ignored: ['starting'] },
};

/** A random body, generic or of the Prometheus format, firing or resolved, of few fingerprints. */
export function randomBody(random: Random, spread = FINGERPRINTS.length): Record<string, unknown> {
  const prints = FINGERPRINTS.slice(0, spread);
  if (random.chance(0.4)) {
    return {
      title: `Trouble ${random.whole(1, 3)}`,
      fingerprint: random.pick(prints),
      severity: random.pick(['critical', 'high', 'low', 'info']),
      ...(random.chance(0.3) ? { end_time: ENDS[0] } : {}),
    };
  }
  const items = Array.from({ length: random.whole(1, 5) }, () => {
    const isOver = random.chance(0.35);
    return {
      status: isOver ? 'resolved' : 'firing',
      labels: { alertname: `Rule ${random.whole(1, 3)}`, severity: random.pick(['page', 'warning', 's1']) },
      annotations: {},
      startsAt: random.pick(STARTS),
      endsAt: isOver ? random.pick(ENDS) : ENDS[1],
      generatorURL: 'http://p/graph?g0.expr=up',
      fingerprint: random.pick(prints),
    };
  });
  return prometheusBody(items, { groupKey: random.pick(['{}:{a="1"}', '{}:{a="2"}']) });
}

/** Generic ones say by a state of their own what they are, which only rules of the sender read. */
export function randomRuledBody(random: Random, spread?: number): Record<string, unknown> {
  const body = randomBody(random, spread);
  const hasState = !Array.isArray(body.alerts) && random.chance(0.6);
  return hasState ? { ...body, state: random.pick(['ok', 'seen', 'starting', 'bad']) } : body;
}

/** Some deliveries have an idempotency key. */
export const randomIdempotencyKey = (random: Random): string =>
  random.chance(0.1) ? `name ${random.whole(1, 5)}` : '';

/** A body of the Prometheus format around its items. */
export const prometheusBody = (alerts: readonly unknown[], more: object = {}) => ({
  receiver: 'rx',
  status: 'firing',
  alerts,
  groupLabels: { alertname: 'A' },
  commonLabels: { alertname: 'A' },
  commonAnnotations: {},
  externalURL: 'http://alertmanager.example:9093',
  version: '4',
  groupKey: '{}:{alertname="A"}',
  truncatedAlerts: 0,
  ...more,
});

/** An item of the Prometheus format. */
export const firing = (more: object = {}) => ({
  status: 'firing',
  labels: { alertname: 'A', instance: 'h1' },
  annotations: { summary: 'It broke' },
  startsAt: '2026-11-21T03:10:27.487Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://p/graph?g0.expr=up+%3D%3D+0&g0.tab=1',
  fingerprint: '08dcd0f670d4fc40',
  ...more,
});
