import { describe, expect, test } from 'vitest';
import { parseDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import type { DeliveryHead } from '../../../aggregate/alerts/model/event.ts';
import type { Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import { HEAD, mapped, RULES, read } from './read-generic.ts';

describe('the generic payload', () => {
  test('an empty one is an alert: every field has a default', () => {
    expect(read({})).toMatchObject({
      title: 'New: Alert',
      description: '',
      severity: 'critical',
      service: '',
      tool: '',
      hosts: [],
      environment: '',
      startedMs: 0,
      endedMs: 0,
      effect: 'fire',
    });
  });

  test('a number that no double holds is a text as it is written', () => {
    const body = Buffer.from('{"title":1e999,"service":123456789012345678901,"hosts":[-1e400]}');
    expect(parseDelivery(HEAD, body, RULES).items).toMatchObject([
      { title: '1e999', service: '123456789012345678901', hosts: ['-1e400'] },
    ]);
  });

  test('every field of it is taken', () => {
    const item = read({
      title: 'Disk full',
      description: 'of db-1',
      start_time: '2026-11-21T03:10:27.487Z',
      service: 'database',
      monitoring_tool: 'Nagios',
      hosts: ['db-1', 'db-2'],
      severity: 'high',
      platform_environment_name: 'production',
      runbook: 'https://wiki/disk',
      anything: { else: [1] },
    });
    expect(item).toMatchObject({
      title: 'Disk full',
      description: 'of db-1',
      startedMs: Date.parse('2026-11-21T03:10:27.487Z'),
      service: 'database',
      tool: 'Nagios',
      hosts: ['db-1', 'db-2'],
      severity: 'high',
      environment: 'production',
      runbook: 'https://wiki/disk',
      effect: 'fire',
    });
  });

  test.each([[undefined], [null], [''], ['  \n']])('a title of %j is missing', (title) => {
    expect(read({ title }).title).toBe('New: Alert');
  });

  test.each([
    ['text', 'text'],
    [17, '17'],
    [true, 'true'],
    [{ a: 1 }, '{"a":1}'],
    ['nul\0inside', 'nulinside'],
    ['two\r\nlines', 'two  lines'],
    ['\u202egnp.exe\u2066', 'gnp.exe'],
    ['\u202e\u0007', 'New: Alert'],
  ])('a title of %j is the text %j', (title, text) => {
    expect(read({ title }).title).toBe(text);
  });

  test.each([
    ['title', 'title', 200],
    ['description', 'description', 1000],
  ] as const)('a long %s is cut with an ellipsis, not refused', (name, field, charactersMax) => {
    expect(read({ [name]: 'x'.repeat(charactersMax) })[field]).toBe('x'.repeat(charactersMax));
    expect(read({ [name]: 'x'.repeat(charactersMax + 1) })[field]).toBe(
      `${'x'.repeat(charactersMax - 3)}...`,
    );
    expect(Array.from(read({ [name]: '🦀'.repeat(charactersMax + 1) })[field])).toHaveLength(charactersMax);
  });

  test.each([
    ['critical', 'critical'],
    ['high', 'high'],
    ['medium', 'medium'],
    ['low', 'low'],
    ['info', 'info'],
    ['unknown', 'unknown'],
    ['CRITICAL', 'critical'],
    ['Info', 'info'],
    ['minor', 'critical'],
    ['warning', 'critical'],
    ['', 'critical'],
    [null, 'critical'],
    [1, 'critical'],
    [['high'], 'critical'],
    ['constructor', 'critical'],
  ])('severity %j is %s', (severity, expected) => {
    expect(read({ severity }).severity).toBe(expected);
  });

  test.each([
    ['2026-11-21T03:10:27.487Z', '2026-11-21T03:10:27.487Z'],
    ['2026-11-21T03:10:27.487123456Z', '2026-11-21T03:10:27.487Z'],
    ['2026-11-21T05:10:27+02:00', '2026-11-21T03:10:27.000Z'],
    ['2026-11-21 03:10:27', '2026-11-21T03:10:27.000Z'],
    ['2026-11-21T05:10:27+02', '2026-11-21T03:10:27.000Z'],
    ['2026-11-21T05:10:27 +0200', '2026-11-21T03:10:27.000Z'],
    ['20261121T031027Z', '2026-11-21T03:10:27.000Z'],
    ['20261121T0840+0530', '2026-11-21T03:10:00.000Z'],
    ['2026-11-21T03:10:27,48Z', '2026-11-21T03:10:27.480Z'],
    ['2024-02-29T03', '2024-02-29T03:00:00.000Z'],
    ['2026-11-21 03:10:27 UTC', '2026-11-21T03:10:27.000Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['Sat, 21 Nov 2026 03:10:27 +0000', '2026-11-21T03:10:27.000Z'],
    ['Nov 21, 2026 03:10:27', '2026-11-21T03:10:27.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ])('a time written as %j is %s', (start_time, expected) => {
    expect(new Date(read({ start_time }).startedMs).toISOString()).toBe(expected);
  });

  test('half a character in a text is U+FFFD, as it is read from the store', () => {
    expect(read({ title: '\ud800 full', fingerprint: 'a\udc00' }).title).toBe('\ufffd full');
    expect(read({ fingerprint: 'a\udc00' }).fingerprint).toBe(read({ fingerprint: 'a\ufffd' }).fingerprint);
  });

  test.each([
    'soon',
    '',
    'day 5',
    '21',
    5,
    null,
    {},
    [],
    true,
    '2026-13-99',
    '2026-02-29T00:00:00Z',
    '2026-11-31',
    '20261121',
    '2026-11-21T25:00:00Z',
    '0001-01-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '-200000-01-01T00:00:00Z',
    '+010000-01-01T00:00:00Z',
    'Fri, 01 Jan 10000 00:00:00 GMT',
  ])('a time of %j is none', (time) => {
    expect(read({ start_time: time }).startedMs).toBe(0);
  });

  test.each([
    ['one', ['one']],
    [
      ['one', 'two'],
      ['one', 'two'],
    ],
    [
      [['one'], ['two', ['three']]],
      ['one', 'two', 'three'],
    ],
    [
      ['one', '', null, 2],
      ['one', '2'],
    ],
    [{ name: 'one' }, ['{"name":"one"}']],
    [null, []],
  ])('hosts of %j are %j', (hosts, expected) => {
    expect(read({ hosts }).hosts).toEqual(expected);
  });

  test('a million hosts are cut', () => {
    const { hosts } = read({ hosts: Array.from({ length: 50_000 }, (_, i) => `h${i}`) });
    expect(hosts.join(', ').length).toBeLessThanOrEqual(255);
  });
});

describe('the fingerprint of a generic payload', () => {
  const fingerprintOf = (payload: unknown, head: Partial<DeliveryHead> = {}) =>
    read(payload, head).fingerprint;

  test('a given one alone decides', () => {
    expect(fingerprintOf({ title: 'a', fingerprint: 'f' })).toBe(
      fingerprintOf({ title: 'b', fingerprint: 'f' }),
    );
    expect(fingerprintOf({ title: 'a', fingerprint: 'f' })).not.toBe(
      fingerprintOf({ title: 'a', fingerprint: 'g' }),
    );
  });

  test('a list is joined in order, and a list of one is its text', () => {
    expect(fingerprintOf({ fingerprint: ['a', 'b'] })).toBe(fingerprintOf({ fingerprint: ['a', 'b'] }));
    expect(fingerprintOf({ fingerprint: ['a', 'b'] })).not.toBe(fingerprintOf({ fingerprint: ['b', 'a'] }));
    expect(fingerprintOf({ fingerprint: ['a', 'bc'] })).not.toBe(fingerprintOf({ fingerprint: ['ab', 'c'] }));
    expect(fingerprintOf({ fingerprint: ['a'] })).toBe(fingerprintOf({ fingerprint: 'a' }));
  });

  test.each([[null], [''], ['  '], [[]], [['', null]]])('one of %j is missing', (fingerprint) => {
    expect(fingerprintOf({ title: 'a', fingerprint })).not.toBe(fingerprintOf({ title: 'b', fingerprint }));
  });

  test('numbers, booleans and objects differ like texts', () => {
    const written = [
      '1',
      '2',
      '12345678901234567890',
      '12345678901234567891',
      'true',
      'false',
      '{"a":1}',
      '{"a":2}',
    ];
    const prints = written.map(
      (value) => parseDelivery(HEAD, Buffer.from(`{"fingerprint":${value}}`), RULES).items[0]?.fingerprint,
    );
    expect(new Set(prints).size).toBe(written.length);
  });

  test('without one the payload decides, in any order of its keys', () => {
    expect(fingerprintOf({ title: 'a', tags: { x: 1, y: [2] } })).toBe(
      fingerprintOf({ tags: { y: [2], x: 1 }, title: 'a' }),
    );
    expect(fingerprintOf({ title: 'a', tags: { x: 1 } })).not.toBe(
      fingerprintOf({ title: 'a', tags: { x: 2 } }),
    );
    expect(fingerprintOf({ title: 'a', tags: ['x', 'y'] })).not.toBe(
      fingerprintOf({ title: 'a', tags: ['y', 'x'] }),
    );
  });

  test('start time, end time and hosts do not count', () => {
    const alike = [
      {},
      { start_time: '2026-01-01' },
      { end_time: '2026-01-02' },
      { hosts: ['h1'] },
      { hosts: 'h2', start_time: 'x', end_time: null },
    ].map((more) => fingerprintOf({ title: 'a', ...more }));
    expect(new Set(alike).size).toBe(1);
    expect(fingerprintOf({ title: 'a', inner: { hosts: 1 } })).not.toBe(
      fingerprintOf({ title: 'a', inner: { hosts: 2 } }),
    );
  });

  test('fields that times and hosts are mapped from do not count either', () => {
    const mapping: Mapping = { start_time: ['at', 'from'], hosts: ['where', 0] };
    const one = fingerprintOf({ title: 'a', at: { from: '1', to: 'x' }, where: ['h1', 'z'] }, { mapping });
    const two = fingerprintOf({ title: 'a', at: { from: '2', to: 'x' }, where: ['h2', 'z'] }, { mapping });
    const other = fingerprintOf({ title: 'a', at: { from: '1', to: 'y' }, where: ['h1', 'z'] }, { mapping });
    expect(two).toBe(one);
    expect(other).not.toBe(one);
  });

  test('on the free plan only a given one groups', () => {
    expect(fingerprintOf({ title: 'a' }, { groups_by_payload: false })).toBe('');
    expect(fingerprintOf({ fingerprint: 'f' }, { groups_by_payload: false })).not.toBe('');
  });
});

describe('custom mapping', () => {
  const payload = {
    event: { name: 'CPU', text: 'too hot', when: '2026-11-21T03:00:00Z', done: 1763694627, level: 'low' },
    nodes: [{ id: 'n1' }, { id: 'n2' }],
    keys: ['k1', 'k2'],
    title: 'plain title',
    'dotted.name/with slash': 'svc',
  };

  test('reads every field from its mapped path', () => {
    const item = mapped(payload, {
      title: ['event', 'name'],
      description: ['event', 'text'],
      start_time: ['event', 'when'],
      end_time: ['event', 'done'],
      service: ['dotted.name/with slash'],
      monitoring_tool: ['nodes', 0, 'id'],
      hosts: ['keys'],
      severity: ['event', 'level'],
      fingerprint: ['keys', 1],
      environment: ['nodes', 1, 'id'],
    });
    expect(item).toMatchObject({
      title: 'CPU',
      description: 'too hot',
      startedMs: Date.parse('2026-11-21T03:00:00Z'),
      endedMs: 1_763_694_627_000,
      effect: 'resolve',
      service: 'svc',
      tool: 'n1',
      hosts: ['k1', 'k2'],
      severity: 'low',
      fingerprint: read({ fingerprint: 'k2' }).fingerprint,
      environment: 'n2',
    });
  });

  test.each<[string, (string | number)[]]>([
    ['a name that is not there', ['nothing']],
    ['an index after the end of a list', ['keys', 9]],
    ['a name in a list', ['keys', 'k1']],
    ['an index of an object', ['event', 0]],
    ['something inside a text', ['title', 'length']],
    ['something that every object inherits', ['constructor', 'name']],
    ['an empty path', []],
  ])('a path to %s falls back to the usual key', (_what, path) => {
    expect(
      mapped({ ...payload, event: { ...payload.event } }, { title: path.length ? path : ['none'] }).title,
    ).toBe('plain title');
  });

  test('a mapped value that is blank falls back as well', () => {
    expect(mapped({ a: ' ', title: 'plain' }, { title: ['a'] }).title).toBe('plain');
    expect(mapped({ a: null }, { title: ['a'] }).title).toBe('New: Alert');
  });
});
