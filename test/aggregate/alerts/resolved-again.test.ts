import { describe, expect, test } from 'vitest';
import { firing, prometheusBody } from '../../serve/alerts/made.ts';
import { TestProject } from './test-project.ts';

describe('a resolve that found nothing and comes again ends no alert that began later', () => {
  const S1 = '2026-11-21T03:10:27.487Z';
  const S2 = '2026-11-21T03:20:00Z';
  const fires = (startsAt: string) => prometheusBody([firing({ startsAt })]);
  const ends = (startsAt: string) => prometheusBody([firing({ startsAt, status: 'resolved' })]);

  test('its alert was resolved by hand, and a later one is open, also for the second Alertmanager', () => {
    const project = new TestProject();
    project.send(fires(S1));
    project.set(1, 'resolved');
    expect(project.send(ends(S1)).outcomes).toEqual(['unmatched']);
    expect(project.send(fires(S2)).created).toEqual([2]);
    expect(project.send(ends(S1)).outcomes).toEqual(['retried']);
    expect(project.send(fires(S2)).outcomes).toEqual(['retried']);
    expect(project.alerts.get(2)).toMatchObject({ status: 'triggered', events: 1 });
    expect(project.send(ends(S2)).outcomes).toEqual(['resolved']);
  });

  test('its alert never came', () => {
    const project = new TestProject();
    project.send(ends(S1));
    project.send(fires(S2));
    for (let i = 0; i < 3; i++) expect(project.after(10).send(ends(S1)).outcomes).toEqual(['retried']);
    expect(project.alerts.get(1)?.status).toBe('triggered');
  });

  test('an alert that began earlier is not its own either', () => {
    const project = new TestProject();
    project.send(ends(S2));
    project.send(fires(S1));
    expect(project.send(ends(S2)).outcomes).toEqual(['retried']);
    expect(project.send(ends(S1)).outcomes).toEqual(['resolved']);
  });

  test('of several items each ends its own alert only', () => {
    const project = new TestProject();
    const other = { fingerprint: '6a8eb6396d3b0d47' };
    const both = prometheusBody([
      firing({ startsAt: S1, status: 'resolved' }),
      firing({ ...other, startsAt: S1, status: 'resolved' }),
    ]);
    expect(project.send(both).outcomes).toEqual(['unmatched', 'unmatched']);
    project.send(prometheusBody([firing({ startsAt: S2 }), firing({ ...other, startsAt: S1 })]));
    expect(project.send(both).outcomes).toEqual(['retried', 'resolved']);
  });

  test('with an idempotency key, of a source that names a start and of one that names none', () => {
    const project = new TestProject();
    const named = { idempotency_key: 'k1' };
    expect(project.send(ends(S1), named).outcomes).toEqual(['unmatched']);
    project.send(fires(S2));
    expect(project.after(600).send(ends(S1), named).outcomes).toEqual(['retried']);
    const end = { title: 'generic', end_time: '2026-11-21T04:00:00Z' };
    expect(project.send(end, named).outcomes).toEqual(['unmatched']);
    project.send({ title: 'generic' });
    expect(project.send(end, named).outcomes).toEqual(['retried']);
  });

  test('an alert without a start is not the one of a resolve without a start', () => {
    const project = new TestProject();
    const NONE = '0001-01-01T00:00:00Z';
    project.send(ends(NONE));
    project.send(fires(NONE));
    expect(project.send(ends(NONE)).outcomes).toEqual(['retried']);
  });

  test('a clock that is behind does not make it forgotten', () => {
    const project = new TestProject();
    project.send(ends(S1));
    project.send(fires(S1));
    expect(project.after(-20).send(ends(S1)).outcomes).toEqual(['resolved']);
    project.set(1, 'triggered');
    expect(project.after(20).send(ends(S1)).outcomes, 'it ended the alert already').toEqual(['retried']);
  });
});
