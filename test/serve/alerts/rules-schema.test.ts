import { expect, test } from 'vitest';
import { requireRules } from '../../../serve/alerts/integrations/rules-schema.ts';

const status = { path: ['a'], resolved: ['ok'], acknowledged: [], ignored: [] };
const severity = { path: ['a'], words: { p1: 'high' }, otherwise: 'low' };
const many = (count: number, word: string) => Array.from({ length: count }, (_, i) => `${word}${i}`);
const faultOf = (rules: unknown) => {
  try {
    return requireRules(rules);
  } catch (error) {
    return (error as Error).message;
  }
};

test('rules are stored trimmed, with the lists that they lack', () => {
  const given = { status: { path: ['a', 0], resolved: [' ok '] }, severity, tool: ' T ' };
  expect(requireRules(given)).toEqual({
    ...{ tool: 'T', severity },
    status: { path: ['a', 0], resolved: ['ok'], acknowledged: [], ignored: [] },
  });
  expect(requireRules({})).toEqual({});
});

test.each([
  ['no object', [], /^rules: /],
  ['an unknown rule', { statuses: {} }, /^rules: .*statuses/],
  [
    'a path into a prototype',
    { status: { ...status, path: ['__proto__', 'x'] } },
    /^rules\.status\.path\.0: /,
  ],
  ['a path to a constructor', { fingerprint: [[['a', 'constructor']]] }, /^rules\.fingerprint\.0\.0\.1: /],
  ['a path for a label', { labels: { team: ['prototype'] } }, /^rules\.labels\.team\.0: /],
  ['a path without steps', { status: { ...status, path: [] } }, /^rules\.status\.path: /],
  ['a path of 21 steps', { status: { ...status, path: many(21, 's') } }, /^rules\.status\.path: /],
  ['a negative index', { status: { ...status, path: ['a', -1] } }, /^rules\.status\.path\.1: /],
  ['10,000 words', { status: { ...status, ignored: many(10_000, 'w') } }, /^rules\.status\.ignored: /],
  ['a blank word', { status: { ...status, resolved: ['ok', ' '] } }, /^rules\.status\.resolved\.1: /],
  [
    '10,000 severities',
    { severity: { ...severity, words: Object.fromEntries(many(10_000, 'w').map((w) => [w, 'low'])) } },
    /^rules\.severity\.words: /,
  ],
  [
    'an unknown severity',
    { severity: { ...severity, words: { p1: 'worst' } } },
    /^rules\.severity\.words\.p1: /,
  ],
  ['a field that has a rule of its own', { fields: { severity: [['a']] } }, /^rules\.fields/],
  ['no alternative', { fingerprint: [] }, /^rules\.fingerprint: /],
  ['6 alternatives', { fingerprint: Array.from({ length: 6 }, () => [['a']]) }, /^rules\.fingerprint: /],
  ['a label with a space', { labels: { 'a b': ['a'] } }, /^rules\.labels/],
  [
    '21 labels',
    { labels: Object.fromEntries(many(21, 'l').map((name) => [name, ['a']])) },
    /^rules\.labels: /,
  ],
  ['8 KiB and more', { status: { ...status, ignored: many(90, 'w'.repeat(190)) } }, /^rules: .*8192 bytes/],
])('%s: refused with the name of the part', (_what, rules, fault) => {
  expect(faultOf(rules)).toMatch(fault);
});
