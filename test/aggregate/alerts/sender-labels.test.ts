import { describe, expect, test } from 'vitest';
import { firing, prometheusBody } from '../../serve/alerts/made.ts';
import { read } from './read-generic.ts';
import { TestProject } from './test-project.ts';

const SMILE = '\u{1f600}';
/** As the log carries it, so `__proto__` is a name like others. */
const labelsIn = (json: string) => {
  const { matchLabels, hasCutLabels } = read(JSON.parse(json));
  return { labels: Object.entries(matchLabels), hasCutLabels };
};
const named = (count: number, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${String(i).padStart(3, '0')}`, value]));

describe('labels of a generic payload', () => {
  test('are its texts, numbers and booleans, unchanged, and those of `labels`', () => {
    const item = read({
      ...{ title: ' a\n', value: 1.5, is_new: false, empty: '', none: null, list: ['a'], object: { a: 1 } },
      labels: { team: 'a', title: 'of the labels', size: 3, nested: { a: [1] }, none: null },
      tags: { team: 'b', other: 'c' },
    });
    expect(item.matchLabels).toEqual({
      ...{ team: 'a', title: 'of the labels', size: '3', nested: '{"a":[1]}' },
      ...{ value: '1.5', is_new: 'false' },
    });
    expect(item.hasCutLabels).toBe(false);
  });

  test.each([
    ['tags', { tags: { team: 'b' } }, { team: 'b' }],
    ['tags, where labels are a list', { labels: ['x'], tags: { team: 'b' } }, { team: 'b' }],
    ['tags of a text', { tags: 'a,b' }, { tags: 'a,b' }],
  ])('are %s', (_what, payload, labels) => {
    expect(read(payload).matchLabels).toEqual(labels);
  });

  test('may have the names of prototypes', () => {
    const hostile = '{"__proto__":"p","constructor":"c","labels":{"__proto__":"q","toString":"t"}}';
    expect(labelsIn(hostile)).toEqual({
      labels: [
        ['__proto__', 'q'],
        ['toString', 't'],
        ['constructor', 'c'],
      ],
      hasCutLabels: false,
    });
  });
});

describe('labels beyond a limit are left out, and the item says so', () => {
  test.each([
    ['64 labels', named(64, 'v'), 64, false],
    ['65 labels', named(65, 'v'), 64, true],
    ['a name of 128 characters', { ['n'.repeat(128)]: 'v' }, 1, false],
    ['a name of 129 characters', { ['n'.repeat(129)]: 'v', a: 'b' }, 1, true],
    ['a value of 1,024 characters', { a: SMILE.repeat(1024) }, 1, false],
    ['a value of 1,025 characters', { a: SMILE.repeat(1025), b: 'c' }, 1, true],
    ['16 KiB', named(16, 'v'.repeat(1020)), 16, false],
    ['16 KiB and a byte', { ...named(16, 'v'.repeat(1020)), z: 'v' }, 16, true],
  ])('%s', (_what, labels, count, isCut) => {
    const item = read({ labels });
    expect(Object.keys(item.matchLabels)).toHaveLength(count);
    expect(item.hasCutLabels).toBe(isCut);
  });

  test('whatever the order of the sender, the same ones', () => {
    const entries = Object.entries(named(80, 'v'));
    const one = read({ labels: Object.fromEntries(entries) });
    expect(read({ labels: Object.fromEntries(entries.reverse()) }).matchLabels).toEqual(one.matchLabels);
  });
});

test('an item of the Prometheus format has its labels, with severity and environment', () => {
  const project = new TestProject();
  const labels = {
    alertname: 'A',
    severity: 'warning',
    platform_environment_name: 'prod',
    long: 'v'.repeat(900),
  };
  project.send(prometheusBody([firing({ labels })]));
  expect(project.alerts.get(1)).toMatchObject({ match_labels: labels, has_cut_labels: false });
});

test('a repeat brings its labels; an end does not', () => {
  const project = new TestProject();
  const send = (more: object) => project.send({ fingerprint: 'f', ...more });
  send({ labels: { team: 'a', old: 'x' } });
  send({ labels: { team: 'b' } });
  const second = { match_labels: { team: 'b', fingerprint: 'f' }, has_cut_labels: false };
  expect(project.alerts.get(1)).toMatchObject(second);
  expect((project.alerts.get(1) as never as typeof second).match_labels).not.toHaveProperty('old');
  send({ labels: { team: 'c' }, end_time: '2026-11-21T04:00:00Z' });
  expect(project.alerts.get(1)).toMatchObject({ ...second, status: 'resolved' });
});
