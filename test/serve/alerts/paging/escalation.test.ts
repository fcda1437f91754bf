import { describe, expect, test } from 'vitest';
import type { Policy } from '../../../../serve/alerts/oncall/policies.ts';
import {
  type AlertChange,
  type AlertPage,
  advance,
  afterSuppressionChange,
  follow,
  newPage,
  type Reach,
  reachOf,
} from '../../../../serve/alerts/paging/escalation.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2027, 2, 22, 9);

const step = (delay_minutes: number) => ({ targets: [], delay_minutes, important: false });
const policyOf = (more: Partial<Policy> = {}): Policy => ({
  ...{ id: 'p', project_id: '1', name: 'Ops', steps: [step(5), step(10)] },
  ...{ repeats: 1, reminder_hours: 4, ack_timeout_minutes: 0 },
  ...more,
});
const changeOf = (name: AlertChange['name'], at = START, by = '7'): AlertChange => ({
  ...{ name, position: 9, at, by },
});
const opened = (delayMs = 0) =>
  newPage({ project: 1, alert: 3, policy: 'p', route: 'default', severity: 'high' }, changeOf('created'), {
    delayMs,
    suppression: null,
    now: START,
  });
const followed = (page: AlertPage, name: AlertChange['name'], more: Partial<Policy> = {}, isRouted = true) =>
  follow(page, changeOf(name, START + MINUTE), { policy: policyOf(more), isRouted, severity: 'critical' });

/** Carries a page through what is due until a time; the result of each thing that it did. */
function play(
  page: AlertPage,
  { until, policy = policyOf(), reach = 'reached' }: { until: number; policy?: Policy; reach?: Reach },
) {
  const done: string[] = [];
  let now = page.next_ms;
  let current = page;
  for (let i = 0; i < 1000 && current.next_ms > 0 && current.next_ms <= until; i++) {
    now = Math.max(now, current.next_ms);
    const isRoundReached = reach === 'reached';
    const result = advance(current, {
      policy,
      suppression: null,
      reach,
      cycleReach: reach,
      isRoundReached,
      now,
    });
    const minutes = (now - START) / MINUTE;
    if (result.carriesOut)
      done.push(`${minutes}: ${result.page.round}.${result.page.cycle}.${result.page.step}`);
    if (result.exhaustion !== '') done.push(`${minutes}: ${result.exhaustion}`);
    current = result.page;
  }
  return { page: current, done };
}

describe('steps', () => {
  test('run one after the other, repeat, and end with a reminder', () => {
    const { page, done } = play(opened(), { until: START + 5 * HOUR });
    expect(done).toEqual([
      ...['0: 1.1.1', '5: 1.1.2', '15: 1.2.1', '20: 1.2.2', '30: nobody acknowledged'],
      ...['270: 2.1.1', '275: 2.1.2', '285: 2.2.1', '290: 2.2.2', '300: nobody acknowledged'],
    ]);
    expect(page.state).toBe('exhausted');
  });

  test('that reach nobody are left at once, and a whole cycle of them ends the policy', () => {
    const { done } = play(opened(), { until: START + 16 * MINUTE, reach: 'unreached' });
    expect(done.slice(0, 3).map((text) => text.split(': ')[1])).toEqual([
      ...['1.1.1', '1.1.2', 'nobody was reached'],
    ]);
    expect(done[3]).toMatch(/^15.*: 2\.1\.1$/);
  });

  test('whose messages are still on their way do not end the policy early', () => {
    const policy = policyOf({ steps: [step(1)], repeats: 1 });
    const { page, done } = play(opened(), { until: START + 2 * MINUTE, policy, reach: 'unknown' });
    expect(done).toEqual(['0: 1.1.1', '1: 1.2.1', '2: nobody was reached']);
    expect(page.next_ms).toBe(START + 17 * MINUTE);
  });

  test('without a reminder the page stays ended', () => {
    const { page } = play(opened(), {
      until: START + 30 * 24 * HOUR,
      policy: policyOf({ reminder_hours: 0 }),
    });
    expect(page).toMatchObject({ state: 'exhausted', round: 1, next_ms: 0 });
  });

  test('that fell due while nothing ran are carried out once, and count from then', () => {
    const first = advance(opened(), context({ now: START }));
    const late = advance(first.page, context({ now: START + 2 * HOUR }));
    expect(late).toMatchObject({ carriesOut: true, page: { step: 2, step_ms: START + 2 * HOUR } });
    expect(late.page.next_ms).toBeGreaterThan(START + 2 * HOUR);
  });

  test('are read from the policy as it is now', () => {
    const first = advance(opened(), context({ now: START })).page;
    const shorter = policyOf({ steps: [step(1)], repeats: 0 });
    const next = advance(first, context({ now: START + MINUTE, policy: shorter }));
    expect(next.exhaustion).toBe('nobody acknowledged');
  });
});

const context = (more: object) => ({
  ...{ policy: policyOf(), suppression: null, reach: 'reached' as Reach, cycleReach: 'reached' as Reach },
  ...{ isRoundReached: true, now: START },
  ...more,
});

describe('a page', () => {
  test('waits for the delay of its route, and closes silently if the alert ends before', () => {
    expect(opened(MINUTE)).toMatchObject({ state: 'waiting', next_ms: START + MINUTE });
    expect(advance(opened(MINUTE), context({ now: START + MINUTE }))).toMatchObject({
      carriesOut: true,
      page: { state: 'triggered', step: 1 },
    });
    for (const name of ['acknowledged', 'resolved', 'ignored'] as const)
      expect(followed(opened(MINUTE), name)).toMatchObject({ page: { state: 'closed' }, update: null });
  });

  test('is acknowledged, and told to those who were called', () => {
    const { page, update } = followed(opened(), 'acknowledged');
    expect(page).toMatchObject({ state: 'acknowledged', acknowledged_by: '7', next_ms: 0 });
    expect(update).toBe('acknowledged');
    expect(followed(page, 'acknowledged')).toMatchObject({ page: { acknowledged_by: '7' }, update: null });
    expect(followed(page, 'raised').page).toMatchObject({ state: 'acknowledged', severity: 'critical' });
  });

  test('begins again if the acknowledgement times out', () => {
    const first = advance(opened(), context({ now: START })).page;
    const { page } = followed(first, 'acknowledged', { ack_timeout_minutes: 30 });
    expect(page.next_ms).toBe(START + 31 * MINUTE);
    const now = page.next_ms;
    const withTimeout = (ack_timeout_minutes: number) =>
      advance(page, context({ now, policy: policyOf({ ack_timeout_minutes }) }));
    expect(withTimeout(0)).toMatchObject({ setsBack: false, page: { state: 'acknowledged', next_ms: 0 } });
    expect(withTimeout(45).page).toMatchObject({ state: 'acknowledged', next_ms: START + 46 * MINUTE });
    const again = withTimeout(30);
    expect(again).toMatchObject({ setsBack: true, page: { state: 'triggered', round: 2, step: 0 } });
    // The event that set the alert back changes nothing any more.
    expect(followed(again.page, 'triggered').page).toMatchObject({ state: 'triggered', round: 2 });
  });

  test('begins again if the alert is set back or reopened', () => {
    const called = advance(opened(), context({ now: START })).page;
    const acknowledged = followed(called, 'acknowledged').page;
    expect(followed(acknowledged, 'triggered').page).toMatchObject({ state: 'triggered', round: 2, step: 0 });
    const closed = followed(called, 'resolved');
    expect(closed).toMatchObject({ page: { state: 'closed', next_ms: 0 }, update: 'resolved' });
    expect(followed(closed.page, 'reopened').page).toMatchObject({ state: 'triggered', round: 2 });
    expect(followed(closed.page, 'reopened', {}, false).page.state).toBe('closed');
  });

  test('whose step is forced goes on at once', () => {
    const first = advance(opened(), context({ now: START })).page;
    expect(advance(first, context({ now: START + 1, isForced: true }))).toMatchObject({
      carriesOut: true,
      page: { step: 2 },
    });
  });
});

describe('a silenced page', () => {
  const suppression = { silencedBy: ['s1'], mutedBy: ['w1'], until: START + 10 * MINUTE };
  const silenced = (page: AlertPage, now = START) => advance(page, context({ suppression, now }));
  const called = advance(opened(), context({ now: START })).page;

  test('calls nobody, and is looked at again when the silence ends', () => {
    const { page, carriesOut } = silenced(opened());
    expect({ ...page, carriesOut }).toMatchObject({
      ...{ carriesOut: false, state: 'suppressed', suppressed_by: ['s1', 'w1'], step: 0 },
      next_ms: START + 10 * MINUTE,
    });
    expect(silenced(page, START + 11 * MINUTE).page.next_ms).toBe(START + 11 * MINUTE);
    const born = newPage(
      { project: 1, alert: 3, policy: 'p', route: 'default', severity: 'high' },
      changeOf('created'),
      { delayMs: MINUTE, suppression, now: START },
    );
    expect(born).toMatchObject({ state: 'suppressed', next_ms: START + 10 * MINUTE });
  });

  test('calls from the first step when nothing matches any more, in the next round if it called before', () => {
    const now = START + 10 * MINUTE;
    const fresh = advance(silenced(opened(MINUTE)).page, context({ now }));
    expect(fresh).toMatchObject({ carriesOut: true, page: { state: 'triggered', round: 1, step: 1 } });
    // A kill may have left calls of the first step, and they were cancelled.
    const repeated = advance(silenced(opened()).page, context({ now }));
    expect(repeated).toMatchObject({ carriesOut: true, page: { state: 'triggered', round: 2, step: 1 } });
    const again = advance(silenced(called).page, context({ now }));
    expect(again).toMatchObject({ carriesOut: true, page: { round: 2, step: 1, suppressed_by: [] } });
  });

  test.each(['acknowledged', 'resolved', 'ignored'] as const)('ends when its alert is %s', (name) => {
    const untold = followed(silenced(opened(MINUTE)).page, name);
    expect(untold).toMatchObject({ page: { state: 'closed' }, update: null });
    // Those who were called are told of the end, too, and the acknowledgement may time out.
    const wanted =
      name === 'acknowledged' ? { state: name, update: name } : { state: 'closed', update: 'resolved' };
    const { page, update } = followed(silenced(called).page, name);
    expect({ state: page.state, update }).toEqual(wanted);
  });

  test('is one that waits, calls or has ended, never one that is acknowledged or closed', () => {
    const states = ['waiting', 'triggered', 'exhausted', 'acknowledged', 'closed'] as const;
    const after = states.map(
      (state) => afterSuppressionChange({ ...called, state }, suppression, START)?.state ?? state,
    );
    expect(after).toEqual(['suppressed', 'suppressed', 'suppressed', 'acknowledged', 'closed']);
    for (const state of states) expect(afterSuppressionChange({ ...called, state }, null, START)).toBeNull();
    expect(afterSuppressionChange({ ...called, state: 'suppressed' }, null, START)?.next_ms).toBe(START);
  });

  test('whose acknowledgement times out sets the alert back and calls later', () => {
    const acknowledged = followed(called, 'acknowledged', { ack_timeout_minutes: 5 }).page;
    const policy = policyOf({ ack_timeout_minutes: 5 });
    const result = advance(acknowledged, context({ policy, suppression, now: acknowledged.next_ms }));
    expect(result).toMatchObject({ setsBack: true, page: { state: 'triggered' } });
    expect(silenced(result.page, START + 8 * MINUTE).page.state).toBe('suppressed');
  });
});

describe('a step', () => {
  const call = (
    state: 'pending' | 'sent' | 'failed' | 'cancelled',
    due_ms = START,
    waitsForBundle = false,
  ) => ({
    ...{ state, due_ms, waitsForBundle },
  });
  test('reached somebody, nobody, or it is not known yet', () => {
    const reach = (calls: Parameters<typeof reachOf>[0], afterMs: number) =>
      reachOf(calls, START + afterMs, 120_000);
    expect(reach([], 0)).toBe('unreached');
    expect(reach([call('failed'), call('sent')], 0)).toBe('reached');
    expect(reach([call('failed'), call('cancelled')], 0)).toBe('unreached');
    expect(reach([call('pending')], 119_000)).toBe('unknown');
    expect(reach([call('pending')], 120_000)).toBe('unreached');
    expect(reach([call('pending', START, true)], 120_000)).toBe('unknown');
    expect(reach([call('pending', START + 300_000)], 400_000)).toBe('unknown');
  });
});
