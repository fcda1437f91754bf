import { describe, expect, test } from 'vitest';
import { alertBytes } from '../../../aggregate/alerts/model/alert.ts';
import { countedBytes, dropAlert, dropCounted } from '../../../aggregate/alerts/reducer/project-state.ts';
import { Random } from '../../../ingest/demo/random.ts';
import {
  firing,
  prometheusBody,
  randomIdempotencyKey,
  randomRuledBody,
  STATE_RULES,
} from '../../serve/alerts/made.ts';
import { type ReferenceEvent, replay } from '../../serve/alerts/reference.ts';
import { RULES, SECOND, START, TestProject } from './test-project.ts';

const resolves = { end_time: '2026-11-21T04:00:00Z' };

describe('grouping', () => {
  test('a new payload creates an alert, the same one again is counted', () => {
    const project = new TestProject();
    expect(project.send({ title: 'a' })).toEqual({ outcomes: ['created'], created: [1] });
    expect(project.send({ title: 'a' })).toEqual({ outcomes: ['grouped'], created: [] });
    expect(project.send({ title: 'b' })).toEqual({ outcomes: ['created'], created: [2] });
    expect(project.alerts.get(1)).toMatchObject({ events: 2, status: 'triggered' });
  });

  test('an end time resolves; the same payload after it creates a new alert', () => {
    const project = new TestProject();
    project.send({ title: 'a' });
    expect(project.send({ title: 'a', ...resolves })).toEqual({ outcomes: ['resolved'], created: [] });
    expect(project.alerts.get(1)).toMatchObject({
      status: 'resolved',
      events: 1,
      ended_ms: Date.parse(resolves.end_time),
    });
    expect(project.send({ title: 'a' })).toEqual({ outcomes: ['created'], created: [2] });
  });

  test.each([
    [
      'before the start',
      { start_time: '2026-11-20T12:00:00Z' },
      '2026-11-20T11:00:00Z',
      '2026-11-20T12:00:00Z',
    ],
    ['before an alert without a start came', {}, '2026-11-20T23:59:00Z', '2026-11-21T00:00:00Z'],
    ['at the start', { start_time: '2026-11-20T12:00:00Z' }, '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z'],
  ])('an end %s resolves, and is never before the start', (_when, start, end_time, ended) => {
    const project = new TestProject();
    project.send({ title: 'a', ...start });
    expect(project.send({ title: 'a', ...start, end_time }).outcomes).toEqual(['resolved']);
    expect(project.alerts.get(1)).toMatchObject({ status: 'resolved', ended_ms: Date.parse(ended) });
  });

  test('a resolve without an open alert is unmatched and creates nothing', () => {
    const project = new TestProject();
    expect(project.send({ title: 'a', ...resolves })).toEqual({ outcomes: ['unmatched'], created: [] });
    expect(project.alerts.size).toBe(0);
  });

  test.each(['acknowledged', 'ignored'] as const)('an %s alert absorbs repeats', (status) => {
    const project = new TestProject();
    project.send({ title: 'a' });
    project.set(1, status);
    expect(project.send({ title: 'a' }).outcomes).toEqual(['grouped']);
    expect(project.alerts.get(1)).toMatchObject({ status, events: 2 });
  });

  test('a repeat may raise the severity and never lowers it', () => {
    const project = new TestProject();
    const send = (severity: string) => project.send({ fingerprint: 'f', severity });
    for (const [severity, expected] of [
      ['low', 'low'],
      ['info', 'low'],
      ['high', 'high'],
      ['unknown', 'high'],
      ['critical', 'critical'],
      ['low', 'critical'],
    ]) {
      send(severity as string);
      expect(project.alerts.get(1)?.severity).toBe(expected);
    }
  });

  test('only a repeat that raises the severity is told, and not of an alert that is ignored', () => {
    const project = new TestProject();
    const send = (severity: string) => project.send({ fingerprint: 'f', severity }).outcomes[0];
    const sent = ['low', 'low', 'info', 'medium', 'unknown', 'medium', 'high'].map(send);
    expect(sent).toEqual(['created', 'grouped', 'grouped', 'raised', 'grouped', 'grouped', 'raised']);
    project.set(1, 'ignored');
    expect(send('critical')).toBe('grouped');
    expect(project.alerts.get(1)).toMatchObject({ severity: 'critical', events: 8 });
    project.set(1, 'acknowledged');
    expect(send('critical')).toBe('grouped');
  });

  test.each(['triggered', 'acknowledged', 'ignored'] as const)('a repeat brings its texts (%s)', (status) => {
    const project = new TestProject();
    const send = (texts: object) => project.send({ fingerprint: 'f', ...texts });
    send({ title: 'first', description: '80 %', runbook: 'https://wiki/a' });
    project.set(1, status);
    send({ title: 'second', description: '98 %', runbook: 'https://wiki/b' });
    const second = { title: 'second', description: '98 %', runbook: 'https://wiki/b', status };
    expect(project.alerts.get(1)).toMatchObject(second);
    send({});
    send({ title: ' ', description: null });
    expect(project.alerts.get(1), 'a text that a repeat lacks stays').toMatchObject(second);
    send({ description: '99 %' });
    expect(project.alerts.get(1)).toMatchObject({ ...second, description: '99 %', events: 5 });
  });

  test('a repeat of the Prometheus format brings its texts; a retry and an end bring none', () => {
    const project = new TestProject();
    const send = (summary: string, more: object = {}) =>
      project.send(prometheusBody([firing({ annotations: { summary }, ...more })])).outcomes;
    send('first');
    send('retried');
    expect(project.alerts.get(1)?.title).toBe('first');
    project.after(60);
    send('second');
    expect(project.alerts.get(1)).toMatchObject({ title: 'second', y_label: 'second' });
    expect(send('over', { status: 'resolved' })).toEqual(['resolved']);
    expect(project.alerts.get(1)).toMatchObject({ title: 'second', status: 'resolved' });
  });

  test('the bytes of a state follow the texts of repeats', () => {
    const project = new TestProject();
    for (const length of [1, 900, 10]) {
      project.send({ fingerprint: 'f', description: 'x'.repeat(length) });
      const [alert] = project.state.byIid.values();
      expect(project.state.bytes).toBe(alertBytes(alert as never));
    }
  });

  test('without a fingerprint nothing is grouped and nothing resolved', () => {
    const project = new TestProject();
    const free = { groups_by_payload: false };
    expect(project.send({ title: 'a' }, free).created).toEqual([1]);
    expect(project.send({ title: 'a' }, free).created).toEqual([2]);
    expect(project.send({ title: 'a', ...resolves }, free).outcomes).toEqual(['unmatched']);
  });

  test('items of one body are taken in their order', () => {
    const project = new TestProject();
    const body = prometheusBody([
      firing(),
      firing({ status: 'resolved' }),
      firing({ startsAt: '2026-11-21T05:00:00Z' }),
      firing({ fingerprint: '6a8eb6396d3b0d47' }),
    ]);
    expect(project.send(body)).toEqual({
      outcomes: ['created', 'resolved', 'created', 'created'],
      created: [1, 2, 3],
    });
  });
});

describe('retries', () => {
  const body = prometheusBody([firing()]);

  test('the same delivery inside the window does not count, and after it does', () => {
    const project = new TestProject();
    expect(project.send(body).outcomes).toEqual(['created']);
    expect(project.after(59.999).send(body)).toEqual({ outcomes: ['retried'], created: [] });
    expect(project.after(0.001).send(body).outcomes).toEqual(['grouped']);
    expect(project.alerts.get(1)?.events).toBe(2);
  });

  test('the window is counted from the first delivery, not from the retries', () => {
    const project = new TestProject();
    project.send(body);
    expect(project.after(40).send(body).outcomes).toEqual(['retried']);
    expect(project.after(40).send(body).outcomes).toEqual(['grouped']);
    expect(project.after(40).send(body).outcomes).toEqual(['retried']);
  });

  test('a group that grows is counted for its new items only, inside the window', () => {
    const project = new TestProject();
    project.send(body);
    const grown = prometheusBody([firing(), firing({ fingerprint: '6a8eb6396d3b0d47' })]);
    expect(project.after(10).send(grown).outcomes).toEqual(['retried', 'created']);
    expect(project.after(51).send(grown).outcomes).toEqual(['grouped', 'retried']);
  });

  test('a resolve that comes twice, and the firing that made it late, change nothing', () => {
    const project = new TestProject();
    project.send(body);
    const end = prometheusBody([firing({ status: 'resolved' })]);
    expect(project.send(end).outcomes).toEqual(['resolved']);
    expect(project.send(end).outcomes).toEqual(['retried']);
    expect(project.send(body).outcomes).toEqual(['retried']);
    expect(project.alerts.get(1)).toMatchObject({ status: 'resolved', events: 1 });
  });

  test('a resolve that came before its alert, and comes again, resolves it', () => {
    const project = new TestProject();
    const end = prometheusBody([firing({ status: 'resolved' })]);
    expect(project.send(end).outcomes).toEqual(['unmatched']);
    expect(project.send(body).outcomes).toEqual(['created']);
    expect(project.send(end).outcomes).toEqual(['resolved']);
    expect(project.send(end).outcomes).toEqual(['retried']);
  });

  test('another start is another delivery', () => {
    const project = new TestProject();
    project.send(body);
    const again = prometheusBody([firing({ startsAt: '2026-11-21T03:11:00Z' })]);
    expect(project.send(again).outcomes).toEqual(['grouped']);
  });

  test('the same alert of two servers is counted once, of two integrations twice', () => {
    const project = new TestProject();
    project.send(body);
    expect(project.send({ ...body, externalURL: 'http://other:9093' }).outcomes).toEqual(['retried']);
    expect(project.send(body, { integration: 'i2' }).outcomes).toEqual(['created']);
  });

  test('generic deliveries count each time, those with an idempotency key once and with the same answer', () => {
    const project = new TestProject();
    const named = { idempotency_key: 'k1' };
    expect(project.send({ title: 'a' }, named)).toEqual({ outcomes: ['created'], created: [1] });
    expect(project.after(600).send({ title: 'a' }, named)).toEqual({ outcomes: ['retried'], created: [1] });
    expect(project.send({ title: 'a' }, { idempotency_key: 'k2' })).toEqual({
      outcomes: ['grouped'],
      created: [],
    });
    expect(project.send({ title: 'b' }, named), 'the same key with another body').toEqual({
      outcomes: ['created'],
      created: [2],
    });
    expect(project.send({ title: 'a' }).outcomes).toEqual(['grouped']);
    expect(project.after(3600).send({ title: 'a' }, named).outcomes).toEqual(['grouped']);
  });

  test('the bytes of a state follow its alerts and retry keys', () => {
    const project = new TestProject();
    for (let i = 0; i < 3000; i++) {
      project.send(prometheusBody([firing({ fingerprint: i.toString(16).padStart(16, '0') })]));
    }
    const { state } = project;
    const { byKey } = state.counted;
    const [oldestKey = ''] = byKey.keys();
    // All keys are of the same length.
    const expected = () =>
      [...state.byIid.values()].reduce((sum, alert) => sum + alertBytes(alert), 0) +
      byKey.size * countedBytes(oldestKey);
    expect(byKey.size).toBe(3000);
    expect(state.bytes).toBe(expected());
    project.after(121).send(body);
    expect(byKey.size).toBe(1);
    expect(state.bytes).toBe(expected());
    for (const alert of [...state.byIid.values()]) dropAlert(state, alert);
    for (const [retryKey, delivery] of byKey) dropCounted(state, retryKey, delivery);
    expect(state).toMatchObject({ bytes: 0, open: new Map() });
  });
});

describe('actions', () => {
  const ALL = ['triggered', 'acknowledged', 'resolved', 'ignored'] as const;
  test.each(ALL.flatMap((from) => ALL.map((to) => [from, to] as const)))('%s → %s', (from, to) => {
    const project = new TestProject();
    project.send({ title: 'a' });
    project.set(1, from);
    project.after(5).set(1, to);
    const ended = to !== 'resolved' ? 0 : from === 'resolved' ? START : START + 5 * SECOND;
    expect(project.alerts.get(1)).toMatchObject({ status: to, ended_ms: ended });
  });

  test('a resolved alert cannot be reopened while another one of its fingerprint is open', () => {
    const project = new TestProject();
    project.send({ title: 'a' });
    project.set(1, 'resolved');
    project.send({ title: 'a' });
    expect(project.set(1, 'triggered').outcomes).toEqual(['refused']);
    project.set(2, 'resolved');
    expect(project.set(1, 'triggered').outcomes).toEqual(['changed']);
    expect(project.send({ title: 'a' }).outcomes).toEqual(['grouped']);
    expect(project.alerts.get(1)?.events).toBe(2);
  });

  test('an action that gives the status again changes nothing', () => {
    const project = new TestProject();
    project.send({ title: 'a' });
    expect(project.set(1, 'acknowledged').outcomes).toEqual(['changed']);
    const before = project.alerts.get(1);
    expect(project.after(5).set(1, 'acknowledged').outcomes).toEqual(['unchanged']);
    expect(project.alerts.get(1)).toEqual(before);
  });

  test('of an action only what the alert did not have is a change', () => {
    const project = new TestProject();
    project.send({ title: 'a' });
    const asked = { status: 'acknowledged', assignees: ['1'], incident: 0 } as const;
    expect(project.act(1, asked).change).toEqual({ status: 'acknowledged', assignees: ['1'] });
    expect(project.act(1, { ...asked, assignees: ['2'] }).change).toEqual({ assignees: ['2'] });
    expect(project.act(1, { ...asked, assignees: ['2'], incident: 7 }).change).toEqual({ incident: 7 });
    expect(project.act(1, { status: 'acknowledged', assignees: ['2'] })).not.toHaveProperty('change');
  });

  test('an action on an alert that has another status than the expected one changes nothing', () => {
    const project = new TestProject();
    project.send({ title: 'Disk' });
    project.set(1, 'resolved');
    expect(project.act(1, { status: 'acknowledged' }, 'triggered').outcomes).toEqual(['unchanged']);
    project.set(1, 'triggered');
    expect(project.act(1, { status: 'acknowledged' }, 'triggered').outcomes).toEqual(['changed']);
  });

  test('an action on an unknown alert is refused', () => {
    expect(new TestProject().set(7, 'resolved').outcomes).toEqual(['refused']);
  });
});

describe('the slow reference', () => {
  test.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'gives the same alerts for random events (seed %i)',
    (seed) => {
      const random = new Random(seed);
      const project = new TestProject();
      const events: ReferenceEvent[] = [];
      for (let i = 0; i < 300; i++) {
        project.after(random.whole(0, 20));
        if (random.chance(0.15)) {
          const iid = random.whole(1, project.alerts.size + 1);
          const status = random.pick(['triggered', 'acknowledged', 'resolved', 'ignored'] as const);
          project.set(iid, status);
          events.push({
            at: project.now,
            integration: '',
            idempotencyKey: '',
            body: '',
            action: { iid, status },
          });
          continue;
        }
        const body = randomRuledBody(random);
        const integration = random.pick(['i1', 'i2']);
        const idempotency_key = randomIdempotencyKey(random);
        project.send(body, { integration, idempotency_key, sender_rules: STATE_RULES });
        events.push({
          at: project.now,
          integration,
          idempotencyKey: idempotency_key,
          body: JSON.stringify(body),
        });
      }
      const expected = replay(events, { retryMs: RULES.retryWindowMs, namedMs: RULES.namedWindowMs });
      const actual = [...project.alerts.values()].sort(
        (a, b) => (a as never as { iid: number }).iid - (b as never as { iid: number }).iid,
      );
      expect(actual).toHaveLength(expected.length);
      expected.forEach(({ fingerprint: _, ...alert }, i) => {
        expect(actual[i]).toMatchObject(alert);
      });
    },
  );
});
