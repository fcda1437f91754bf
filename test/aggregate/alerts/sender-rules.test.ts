import { describe, expect, test } from 'vitest';
import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import { read } from './read-generic.ts';
import { TestProject } from './test-project.ts';

const status = {
  path: ['check', 'state'],
  resolved: ['OK', '1', 'false'],
  acknowledged: ['seen'],
  ignored: ['Pending', '2'],
};
const ruled = (payload: object, sender_rules: SenderRules) => read(payload, { sender_rules });

describe('the status of a payload', () => {
  test.each([
    ['ok', 'resolve'],
    [' Ok\n', 'resolve'],
    [1, 'resolve'],
    [false, 'resolve'],
    ['SEEN', 'acknowledge'],
    ['pending', 'ignore'],
    [2, 'ignore'],
    [true, 'fire'],
    ['okay', 'fire'],
    [{ ok: 1 }, 'fire'],
    [['ok'], 'fire'],
  ])('%j: %s', (state, effect) => {
    expect(ruled({ check: { state } }, { status }).effect).toBe(effect);
  });

  test('decides alone, also over an end time; without one the end time decides', () => {
    const end_time = '2026-11-21T04:00:00Z';
    expect(ruled({ check: { state: 'bad' }, end_time }, { status }).effect).toBe('fire');
    expect(ruled({ check: { state: 'pending' }, end_time }, { status }).effect).toBe('ignore');
    for (const check of [undefined, null, {}, { state: ' ' }, [{ state: 'ok' }]]) {
      expect(ruled({ check, end_time }, { status }).effect, JSON.stringify(check)).toBe('resolve');
      expect(ruled({ check }, { status }).effect, JSON.stringify(check)).toBe('fire');
    }
    const ended = ruled({ check: { state: 'ok' }, end_time }, { status });
    expect(ended).toMatchObject({ endedMs: Date.parse(end_time), hasUnreadEnd: false });
    expect(ruled({ check: { state: 'ok' }, end_time: 'soon' }, { status }).hasUnreadEnd).toBe(true);
    expect(ruled({ check: { state: 'ok' } }, { status }).hasUnreadEnd).toBe(false);
  });

  test('is no part of what is compared, so a payload without an id resolves its alert', () => {
    const project = new TestProject();
    const send = (state: string) =>
      project.send({ title: 'Disk full', check: { state, name: 'disk' } }, { sender_rules: { status } })
        .outcomes[0];
    expect(['bad', 'worse', 'pending', 'ok', 'bad'].map(send)).toEqual([
      ...['created', 'grouped', 'ignored', 'resolved', 'created'],
    ]);
  });
});

describe('an acknowledgement of the sender', () => {
  const sent = () => {
    const project = new TestProject();
    const send = (state: string) =>
      project.send({ fingerprint: 'f', check: { state } }, { sender_rules: { status } });
    return { project, send };
  };

  test('acknowledges a triggered alert once, and is no event of it', () => {
    const { project, send } = sent();
    send('bad');
    project.after(10);
    expect(send('seen')).toEqual({ outcomes: ['acknowledged'], created: [] });
    const acknowledged = { status: 'acknowledged', events: 1, acknowledged_ms: project.now };
    expect(project.alerts.get(1)).toMatchObject(acknowledged);
    project.after(10);
    expect(send('seen').outcomes).toEqual(['unchanged']);
    expect(project.alerts.get(1)).toMatchObject(acknowledged);
    expect(send('bad').outcomes).toEqual(['grouped']);
    expect(project.alerts.get(1)?.status).toBe('acknowledged');
    expect(send('ok').outcomes).toEqual(['resolved']);
    expect(send('seen').outcomes).toEqual(['unmatched']);
  });

  test.each(['acknowledged', 'ignored'] as const)('leaves an alert that a member set to %s', (set) => {
    const { project, send } = sent();
    send('bad');
    project.set(1, set);
    expect(send('seen').outcomes).toEqual(['unchanged']);
    expect(project.alerts.get(1)?.status).toBe(set);
  });

  test('of no open alert creates nothing', () => {
    const { project, send } = sent();
    expect(send('seen')).toEqual({ outcomes: ['unmatched'], created: [] });
    expect(project.alerts.size).toBe(0);
  });

  test('that is retried under an idempotency key counts once', () => {
    const { project, send } = sent();
    send('bad');
    const named = { sender_rules: { status }, idempotency_key: 'k' };
    const again = () => project.send({ fingerprint: 'f', check: { state: 'seen' } }, named).outcomes[0];
    expect(again()).toBe('acknowledged');
    project.set(1, 'triggered');
    expect(again()).toBe('retried');
    expect(project.alerts.get(1)?.status).toBe('triggered');
  });
});

test('an ignored payload changes nothing and is not remembered', () => {
  const project = new TestProject();
  const send = (state: string) =>
    project.send(
      { fingerprint: 'f', check: { state } },
      { sender_rules: { status }, idempotency_key: state },
    );
  expect(send('pending')).toEqual({ outcomes: ['ignored'], created: [] });
  expect(send('pending').outcomes).toEqual(['ignored']);
  expect(project.state).toMatchObject({ lastIid: 0, bytes: 0 });
});

describe('the fingerprint', () => {
  const fingerprint = [[['cycle'], ['host', 'name']], [['id']]];
  const of = (payload: object, head: object = {}) =>
    read(payload, { sender_rules: { fingerprint }, ...head }).fingerprint;

  test('is the first alternative without a blank', () => {
    const cycle = of({ cycle: 'c', host: { name: 'h' }, id: 1 });
    expect(of({ cycle: 'c', host: { name: 'h' }, id: 2, title: 'other' })).toBe(cycle);
    expect(of({ cycle: 'c', host: { name: 'i' } })).not.toBe(cycle);
    const id = of({ cycle: 'c', host: { name: ' ' }, id: 7 });
    expect(of({ id: '7', title: 'x' })).toBe(id);
    expect(id).not.toBe(cycle);
  });

  test('of the payload counts where every alternative has a blank', () => {
    expect(of({ fingerprint: 'f', id: null })).toBe(read({ fingerprint: 'f' }).fingerprint);
    expect(of({ title: 'a' })).toBe(read({ title: 'a' }).fingerprint);
  });

  test('is of its integration: two servers of a tool count their ids alike', () => {
    expect(of({ id: 1 }, { integration: 'a' })).not.toBe(of({ id: 1 }, { integration: 'b' }));
  });

  test('lists are not joined to the same text', () => {
    expect(of({ cycle: 'a', host: { name: 'b' } })).not.toBe(of({ id: 'ab' }));
    expect(of({ cycle: ['a', 'b'], host: { name: 'c' } })).not.toBe(of({ cycle: 'a', host: { name: 'bc' } }));
  });
});

test.each([
  ['P1', 'critical'],
  [' p3 ', 'low'],
  [4, 'info'],
  ['P9', 'medium'],
  [undefined, 'medium'],
])('severity %j is %s', (level, severity) => {
  const rule = {
    path: ['level'],
    words: { p1: 'critical', P3: 'low', '4': 'info' },
    otherwise: 'medium',
  } as const;
  expect(ruled({ level, severity: 'high' }, { severity: rule }).severity).toBe(severity);
});

test('labels are shown and matched, before those of the payload', () => {
  const labels = { team: ['owner', 'team'], size: ['size'], list: ['list'], missing: ['a', 'b'] };
  const payload = { owner: { team: ' ops\n' }, size: 3, list: ['a'], team: 'top', labels: { size: 'big' } };
  const item = ruled(payload, { labels });
  expect(item.labels).toEqual(['list=["a"]', 'size=3', 'team= ops ']);
  expect(item.matchLabels).toEqual({ team: ' ops\n', size: '3', list: '["a"]' });
});

test('fields are read where the rules say, else by their names; the tool has a name', () => {
  const rules: SenderRules = {
    tool: 'Pinger',
    fields: {
      title: [
        ['data', 'title'],
        ['data', 'name'],
      ],
      start_time: [['at']],
      hosts: [['data', 'host']],
    },
  };
  const payload = { title: 'T', data: { title: ' ', name: 'N', host: 'h' }, at: 1_764_374_400, tool: 'x' };
  const expected = { title: 'N', hosts: ['h'], startedMs: 1_764_374_400_000, tool: 'Pinger' };
  expect(ruled(payload, rules)).toMatchObject(expected);
  expect(ruled({ title: 'T', monitoring_tool: 'Other' }, rules)).toMatchObject({ title: 'T', tool: 'Other' });
  expect(read(payload, { sender_rules: rules, mapping: { title: ['tool'] } }).title).toBe('x');
  expect(ruled({ ...payload, at: 2_000_000_000 }, rules).fingerprint).toBe(ruled(payload, rules).fingerprint);
});

test('a body of the Prometheus format is read without them', () => {
  const project = new TestProject();
  const body = { check: { state: 'ok' }, version: '4', groupKey: 'g', receiver: 'r', externalURL: 'u' };
  const lists = { groupLabels: {}, commonLabels: {}, commonAnnotations: {}, status: 'firing' };
  const alerts = [{ labels: { alertname: 'A' }, startsAt: '2026-11-21T03:10:27Z', status: 'firing' }];
  expect(project.send({ ...body, ...lists, alerts }, { sender_rules: { status } }).outcomes).toEqual([
    'created',
  ]);
});

test.each([
  [1_764_374_400, 1_764_374_400_000],
  [1_764_374_400_123, 1_764_374_400_123],
  [1_764_374_400_123_456, 1_764_374_400_123],
  ['1764374400123456789', 1_764_374_400_123],
  ['1764374400', 1_764_374_400_000],
  [0, 0],
])('a start of %j without a mapping is read as a number since 1970', (start_time, startedMs) => {
  expect(read({ start_time }).startedMs).toBe(startedMs);
});
