import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { PRESETS, presetOf } from '../../../serve/alerts/integrations/presets/presets.ts';
import { requireRules } from '../../../serve/alerts/integrations/rules-schema.ts';
import { TestProject } from '../../aggregate/alerts/test-project.ts';

// Payloads as the tools send them, after their documentation.

type Payload = Record<string, unknown>;

const rulesOf = (name: string) => presetOf({ preset: name })?.rules ?? {};
const sampleOf = (name: string) => structuredClone(presetOf({ preset: name })?.sample) as Payload;

/** Sends payloads through a preset, and returns their outcomes. */
function sent(name: string) {
  const project = new TestProject();
  const send = (payload: Payload) => project.send(payload, { sender_rules: rulesOf(name) }).outcomes[0];
  const alert = (iid = 1) => project.alerts.get(iid) as unknown as Alert;
  return { project, send, alert };
}

/** A copy in which an object, at the names before the last one, has other values. */
function having(payload: Payload, at: readonly string[], values: object): Payload {
  const copy = structuredClone(payload);
  const inner = at.reduce((value, name) => value[name] as Payload, copy);
  Object.assign(inner, values);
  return copy;
}

test.each(PRESETS)('$name has rules that the API takes, and fires with its sample', ({ name, rules }) => {
  expect(requireRules(rules)).toEqual(rules);
  const { send, alert } = sent(name);
  expect(send(sampleOf(name))).toBe('created');
  expect(alert().title).not.toBe('New: Alert');
  expect(send(sampleOf(name))).toBe('grouped');
});

describe('Uptime Kuma', () => {
  const down = sampleOf('uptime_kuma');
  const state = (status: number, msg: string, time = '2026-11-24 23:55:00.000') => ({
    ...having(down, ['heartbeat'], { status, msg, time }),
    msg: `[Shop] ${msg}`,
  });

  test('down fires, pending and maintenance are ignored, up resolves', () => {
    const { project, send, alert } = sent('uptime_kuma');
    project.now = Date.UTC(2026, 10, 24, 23, 56);
    const outcomes = [down, state(2, 'pending'), state(3, 'maintenance'), state(0, 'still'), state(1, 'up')];
    expect(outcomes.map(send)).toEqual(['created', 'ignored', 'ignored', 'grouped', 'resolved']);
    expect(alert()).toMatchObject({
      ...{ title: '[Shop] still', description: 'still', service: 'Shop', tool: 'Uptime Kuma', events: 2 },
      ...{ hosts: ['https://shop.example.com'], severity: 'critical', status: 'resolved' },
      ...{ labels: ['monitor=Shop', 'monitor_type=http'] },
      started_ms: Date.UTC(2026, 10, 24, 23, 51, 35, 527),
      ended_ms: Date.UTC(2026, 10, 24, 23, 55),
      match_labels: { monitor: 'Shop', monitor_type: 'http', msg: '[Shop] still' },
    });
  });

  test('monitors are told apart by their id, whatever they are called', () => {
    const { send } = sent('uptime_kuma');
    const other = having(down, ['monitor'], { id: 30 });
    expect([down, other, having(down, ['monitor'], { name: 'Renamed' })].map(send)).toEqual([
      ...['created', 'created', 'grouped'],
    ]);
  });

  test('a test has neither heartbeat nor monitor, and fires', () => {
    const { send, alert } = sent('uptime_kuma');
    expect(send({ heartbeat: null, monitor: null, msg: 'Webhook Testing' })).toBe('created');
    expect(alert()).toMatchObject({ title: 'Webhook Testing', status: 'triggered' });
  });
});

describe('Datadog', () => {
  const triggered = sampleOf('datadog');
  const transition = (text: string, more: object = {}) => ({ ...triggered, transition: text, ...more });

  test('fires until it is recovered; its cycle is its alert', () => {
    const { project, send, alert } = sent('datadog');
    project.now = 1_795_651_260_000;
    const outcomes = ['Triggered', 'Re-Triggered', 'Warn', 'No Data', 'Renotify', 'Recovered'].map((text) =>
      send(transition(text, { title: text })),
    );
    expect(outcomes).toEqual(['created', 'grouped', 'grouped', 'grouped', 'grouped', 'resolved']);
    expect(alert()).toMatchObject({
      ...{ title: 'Renotify', tool: 'Datadog', hosts: ['db-1'], severity: 'high', events: 5 },
      ...{ runbook: 'https://app.datadoghq.com/monitors/1234567', status: 'resolved' },
      started_ms: 1_795_651_200_000,
      match_labels: { priority: 'P2', scope: 'host:db-1', tags: 'env:prod,host:db-1,monitor,team:storage' },
    });
    expect(send(transition('Triggered', { cycle_key: '2' }))).toBe('created');
  });

  test('an event without a cycle is told apart by monitor and scope', () => {
    const { send } = sent('datadog');
    const without = (scope: string) => transition('Triggered', { cycle_key: '', scope });
    expect([without('host:a'), without('host:b'), without('host:a')].map(send)).toEqual([
      ...['created', 'created', 'grouped'],
    ]);
  });
});

describe('Zabbix', () => {
  const problem = sampleOf('zabbix');

  test('a problem fires, its acknowledgement acknowledges, its recovery resolves', () => {
    const { send, alert } = sent('zabbix');
    expect(send(problem)).toBe('created');
    expect(send({ ...problem, status: '1 1 No', description: 'a comment', severity: '4' })).toBe('raised');
    expect(send({ ...problem, status: '1 1 Yes' })).toBe('acknowledged');
    expect(alert()).toMatchObject({ status: 'acknowledged', severity: 'high', description: 'a comment' });
    expect(send({ ...problem, status: '1 1 Yes' })).toBe('unchanged');
    expect(send({ ...problem, status: '1 0 Yes' }), 'a later step of the escalation').toBe('grouped');
    expect(send({ ...problem, status: '0 0 Yes' })).toBe('resolved');
    expect(send({ ...problem, status: '0 1 Yes' }), 'a comment afterwards').toBe('unmatched');
    expect(alert()).toMatchObject({ tool: 'Zabbix', hosts: ['web-3'], events: 3 });
  });

  test.each([
    ['0', 'unknown'],
    ['1', 'info'],
    ['2', 'low'],
    ['3', 'medium'],
    ['4', 'high'],
    ['5', 'critical'],
  ])('severity %s is %s', (severity, expected) => {
    const { send, alert } = sent('zabbix');
    send({ ...problem, severity });
    expect(alert().severity).toBe(expected);
  });
});

describe('Sentry', () => {
  const critical = sampleOf('sentry');
  const issue = (action: string) => ({
    action,
    data: {
      issue: {
        ...{ id: '1170820242', title: 'ReferenceError: heck is not defined', culprit: '?(<anonymous>)' },
        ...{ level: 'error', lastSeen: '2026-11-20T20:59:00.000Z', firstSeen: '2024-01-01T00:00:00Z' },
        project: { id: '1', name: 'Front', slug: 'front' },
      },
    },
    installation: { uuid: '7a485448-a9e2-4c85-8a3c-4f44175783c9' },
    actor: { type: 'application', id: 'sentry', name: 'Sentry' },
  });
  const issueAlert = {
    action: 'triggered',
    data: {
      event: {
        ...{ issue_id: '1170820242', title: 'ReferenceError: heck is not defined', culprit: '?' },
        ...{ datetime: '2026-11-20T21:00:00Z', environment: 'production', level: 'error' },
      },
      triggered_rule: 'Very important rule',
    },
  };

  test('a metric alert fires and resolves by its action', () => {
    const { send, alert } = sent('sentry');
    const resolved = { ...critical, action: 'resolved' };
    expect([{ ...critical, action: 'warning' }, critical, resolved, resolved].map(send)).toEqual([
      ...['created', 'raised', 'resolved', 'unmatched'],
    ]);
    expect(alert()).toMatchObject({
      ...{ title: 'Critical: Too many errors', severity: 'critical', service: 'shop', tool: 'Sentry' },
      ...{ labels: ['alert_rule=Too many errors'], status: 'resolved' },
    });
  });

  test('an issue, and the issue alerts about it, are one alert', () => {
    const { project, send, alert } = sent('sentry');
    project.now = Date.UTC(2026, 10, 20, 21, 1);
    expect(send(issueAlert)).toBe('created');
    expect(alert()).toMatchObject({ environment: 'production', severity: 'high' });
    expect(send(issue('created'))).toBe('grouped');
    expect(send(issue('assigned'))).toBe('ignored');
    expect(send(issue('archived'))).toBe('acknowledged');
    expect(send(issue('resolved'))).toBe('resolved');
    expect(send(issue('unresolved'))).toBe('created');
    expect(alert(2)).toMatchObject({ service: 'front', started_ms: Date.UTC(2026, 10, 20, 20, 59) });
  });

  test('a metric alert and an issue of the same number are two', () => {
    const { send } = sent('sentry');
    send(having(critical, ['data', 'metric_alert'], { id: '1170820242' }));
    expect(send(issue('created'))).toBe('created');
  });
});

describe('CloudWatch', () => {
  const alarm = sampleOf('cloudwatch');

  test('an alarm fires, missing data is ignored, OK resolves', () => {
    const { project, send, alert } = sent('cloudwatch');
    project.now = Date.UTC(2026, 10, 24, 23, 59);
    const ok = { ...alarm, NewStateValue: 'OK', StateChangeTime: '2026-11-24T23:58:00.000+0000' };
    expect([alarm, { ...alarm, NewStateValue: 'INSUFFICIENT_DATA' }, ok].map(send)).toEqual([
      ...['created', 'ignored', 'resolved'],
    ]);
    expect(alert()).toMatchObject({
      ...{ title: 'Errors of the checkout', service: 'AWS/Lambda', tool: 'CloudWatch', status: 'resolved' },
      started_ms: Date.UTC(2026, 10, 24, 23, 50, 37, 811),
      ended_ms: Date.UTC(2026, 10, 24, 23, 58),
      labels: ['account=123456789012', 'metric=Errors', 'region=EU (Frankfurt)'],
    });
    expect(alert().description).toMatch(/^Threshold Crossed/);
  });

  test('alarms of one name in two regions are two alerts', () => {
    const { send } = sent('cloudwatch');
    const other = { ...alarm, AlarmArn: 'arn:aws:cloudwatch:us-east-1:1:alarm:Errors of the checkout' };
    expect([alarm, other].map(send)).toEqual(['created', 'created']);
  });
});
