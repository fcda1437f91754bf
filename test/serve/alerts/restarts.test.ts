import { expect, test } from 'vitest';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { sql } from '../../../infra/sql.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { openPipeline } from '../../../serve/application/compose/compose.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { firing, prometheusBody, randomIdempotencyKey, randomRuledBody, STATE_RULES } from './made.ts';
import { type ReferenceEvent, replay } from './reference.ts';

const EVENTS = 150;
const STARTS = 3;

test.each([
  { cached: '0', seed: 1 },
  { cached: '20000', seed: 3 },
  { cached: '268435456', seed: 4 },
])(
  'with $cached bytes of memory and several starts the alerts equal the reference (seed $seed)',
  async ({ cached, seed }) => {
    using directory = temporaryDirectory();
    const random = new Random(seed);
    let now = Date.UTC(2026, 10, 21);
    const events: ReferenceEvent[] = [];
    const config = readConfig({ DATA_DIR: directory.path, ALERT_CACHE_BYTES: cached });
    let stored: Alert[] = [];
    for (let start = 0; start < STARTS; start++) {
      const pipeline = await openPipeline(config, { clock: { now: () => now } });
      const alerts = await pipeline.alerts();
      for (let i = 0; i < EVENTS / STARTS; i++) {
        now += random.whole(0, 20_000);
        if (random.chance(0.25)) {
          const iid = random.whole(1, 40);
          const status = random.pick(['triggered', 'acknowledged', 'resolved', 'ignored'] as const);
          await alerts.applyAction({ project: 1, iid, by: '1', change: { status } });
          events.push({ at: now, integration: '', idempotencyKey: '', body: '', action: { iid, status } });
          continue;
        }
        const text = JSON.stringify(randomRuledBody(random));
        const head = {
          kind: 'delivery' as const,
          project: 1,
          integration: random.pick(['i1', 'i2']),
          endpoint: 'http' as const,
          mapping: null,
          sender_rules: STATE_RULES,
          heartbeat_matchers: '',
          groups_by_payload: true,
          idempotency_key: randomIdempotencyKey(random),
        };
        const body = Buffer.from(text);
        await alerts.deliver(head, body, alerts.parse(head, body));
        events.push({
          at: now,
          integration: head.integration,
          idempotencyKey: head.idempotency_key,
          body: text,
        });
      }
      await alerts.waitUntilWritten();
      stored = await pipeline.runtime.store.rows<Alert>(
        sql`SELECT * FROM chain_metrics.alerts FINAL ORDER BY iid`,
      );
      await pipeline.close();
    }
    const expected = replay(events, { retryMs: 60_000, namedMs: 86_400_000 });
    expect(stored).toHaveLength(expected.length);
    for (const [i, { fingerprint: _, ...alert }] of expected.entries())
      expect(stored[i]).toMatchObject(alert);
  },
);

test('a resolve that one delivery counts twice is remembered as it was counted last', async () => {
  using directory = temporaryDirectory();
  const config = readConfig({ DATA_DIR: directory.path });
  const startsAt = '2026-11-21T03:10:27.487Z';
  const ended = firing({ startsAt, status: 'resolved' });
  const outcomes: (readonly string[])[] = [];
  const bodies = [
    // The first resolve finds nothing, the second ends the alert between them.
    prometheusBody([ended, firing({ startsAt }), ended]),
    prometheusBody([firing({ startsAt })], { groupKey: '{}:{alertname="B"}' }),
    prometheusBody([ended]),
  ];
  for (const content of bodies) {
    const pipeline = await openPipeline(config);
    const alerts = await pipeline.alerts();
    const body = Buffer.from(JSON.stringify(content));
    const head = {
      kind: 'delivery' as const,
      project: 1,
      integration: 'i1',
      endpoint: 'http' as const,
      mapping: null,
      sender_rules: null,
      heartbeat_matchers: '',
      groups_by_payload: true,
      idempotency_key: '',
    };
    outcomes.push((await alerts.deliver(head, body, alerts.parse(head, body))).outcomes);
    await alerts.waitUntilWritten();
    await pipeline.close();
  }
  expect(outcomes).toEqual([['unmatched', 'created', 'resolved'], ['created'], ['retried']]);
});
