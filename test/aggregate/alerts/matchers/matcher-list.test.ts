import { describe, expect, test } from 'vitest';
import { expressionSize } from '../../../../aggregate/alerts/matchers/expression-size.ts';
import { MatchIndex } from '../../../../aggregate/alerts/matchers/match-index.ts';
import { matchLabelsOf } from '../../../../aggregate/alerts/matchers/match-labels.ts';
import { compileMatchers, matchesEmptyLabels } from '../../../../aggregate/alerts/matchers/matcher-list.ts';
import { parseMatchers } from '../../../../aggregate/alerts/matchers/parse.ts';

const labels = (values: Record<string, string>, isCut = false) => ({
  values: new Map(Object.entries(values)),
  isCut,
});
const matches = (text: string, values: Record<string, string>, isCut = false) =>
  compileMatchers(parseMatchers(text))(labels(values, isCut));

describe('a list of matchers', () => {
  test.each([
    ['a="b"', true],
    ['a="b", c="d"', false],
    ['a!="x", c!="x"', true],
    ['a=~"b|c"', true],
    ['a=~"B"', false],
    ['a=~"(?i)B"', true],
    ['a=~".*"', true],
    ['a=~"x"', false],
    ['a!~"x.*"', true],
    ['c=""', true],
    ['c=~"|x"', true],
    ['c=~".+"', false],
    ['c!~".+"', true],
    ['dotted=~"web\\\\.example\\\\.com|other"', true],
    ['dotted=~"web.example.com"', true],
    ['dotted=~"web"', false],
    ['lines=~"one.two"', false],
    ['lines=~"(?s)one.two"', true],
    ['lines=~"one"', false],
    ['end=~"one$"', false],
    ['icon=~"."', true],
    ['__proto__="own"', true],
    ['constructor=""', true],
  ])('%s: %s', (text, expected) => {
    const values = { a: 'b', dotted: 'web.example.com', lines: 'one\ntwo', end: 'one\n', icon: '🙂' };
    const own = JSON.parse(`{"__proto__":"own"}`) as Record<string, string>;
    const all = new Map([...Object.entries(values), ...Object.entries(own)]);
    expect(compileMatchers(parseMatchers(text))({ values: all, isCut: false })).toBe(expected);
  });

  test.each(['c=""', 'c!="x"', 'c=~".*"', 'c!~"x"', 'c="x"'])(
    '%s is false if labels were left out',
    (text) => {
      expect(matches(text, { a: 'b' }, true)).toBe(false);
      expect(matches('a="b", a!="c"', { a: 'b' }, true)).toBe(true);
    },
  );

  test.each([
    ['', true],
    ['a=""', true],
    ['a!="b", c=~".*"', true],
    ['a="b", c=~".*"', false],
    ['a=~".+"', false],
  ])('%s matches no labels: %s', (text, expected) => {
    expect(matchesEmptyLabels(parseMatchers(text))).toBe(expected);
  });

  test('the index finds as a scan does', async () => {
    const word = (i: number) => `w${i % 7}`;
    const texts = Array.from({ length: 400 }, (_, i) =>
      [
        `a="${word(i)}"`,
        `a="${word(i)}", b=~"w[0-${i % 7}]"`,
        `b!="${word(i)}"`,
        `a!~"${word(i)}.*", b=~"${word(i)}|w1", c=""`,
        `a="${word(i)}", b="${word(i * 3)}"`,
      ].at(i % 5),
    ).map((text) => text ?? '');
    const lists = texts.map((text) => ({ item: text, matchers: parseMatchers(text) }));
    const index = new MatchIndex(lists);
    for (let i = 0; i < 49; i++) {
      const seen = labels(
        { a: word(i), b: word(Math.floor(i / 7)), ...(i % 3 === 0 && { c: 'x' }) },
        i % 4 === 0,
      );
      const scanned = lists.filter(({ matchers }) => compileMatchers(matchers)(seen)).map(({ item }) => item);
      expect([...(await index.matching(seen))].sort()).toEqual(scanned.sort());
    }
  });
});

test.each([
  ['abc', 3],
  ['a{10}b', 11],
  ['(ab){1,20}', 60],
  ['((a{2}){3}){4}', 40],
  ['[a-z{9}]{8}', 8],
  ['[]{9}]{2}', 2],
  ['[[:alpha:]{9}]{3}', 3],
  ['\\({5}\\pL{5}', 11],
  ['\\Q(a{100}\\E', 11],
  ['[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 36],
  ['(x{0}y*)?', 3],
])('%s takes about %i instructions', (expression, size) => {
  expect(expressionSize(expression)).toBe(size);
});

describe('the labels that matchers see', () => {
  const alert = {
    title: 'High load',
    severity: 'high' as const,
    service: 'api',
    environment: '',
    tool: 'Prometheus',
    hosts: ['h1', 'h2'],
    match_labels: { severity: 'warning', cm_title: 'forged' },
    has_cut_labels: false,
  };

  test("are the sender's first, then our own", () => {
    expect(Object.fromEntries(matchLabelsOf(alert, 'Berlin').values)).toEqual({
      alertname: 'High load',
      severity: 'warning',
      service: 'api',
      monitoring_tool: 'Prometheus',
      host: 'h1',
      cm_severity: 'high',
      cm_service: 'api',
      cm_environment: '',
      cm_tool: 'Prometheus',
      cm_title: 'High load',
      cm_integration: 'Berlin',
    });
  });
});
