import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseClassicMatchers } from '../../../../aggregate/alerts/matchers/classic.ts';
import type { Matcher } from '../../../../aggregate/alerts/matchers/matcher.ts';
import { formatMatchers, parseMatchers } from '../../../../aggregate/alerts/matchers/parse.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/**
 * What amtool 0.28.1 prints for each text; null for a text that it refuses. AMTOOL=PATH with this test records it again,
 * for a new text or another amtool. Both grammars need 0.27 or newer.
 */
const FILE = 'test/fixtures/matchers/amtool.json';
const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly input: string;
  readonly utf8: string | null;
  readonly classic: string | null;
}[];

const sorted = (list: readonly Matcher[]) => list.map((matcher) => JSON.stringify(matcher)).sort();

function verdict(parse: (text: string) => readonly Matcher[], text: string): readonly string[] | null {
  try {
    return sorted(parse(text));
  } catch {
    return null;
  }
}

/** Writes the verdicts of an amtool. */
function record(amtool: string): void {
  using directory = temporaryDirectory();
  const ask = (input: string, mode: string) => {
    const file = join(directory.path, 'alertmanager.json');
    const routes = [{ receiver: 'd', matchers: [input] }];
    writeFileSync(file, JSON.stringify({ route: { receiver: 'd', routes }, receivers: [{ name: 'd' }] }));
    const { status, stdout } = spawnSync(
      amtool,
      [`--enable-feature=${mode}`, 'config', 'routes', 'show', `--config.file=${file}`],
      { encoding: 'utf8' },
    );
    return status === 0 ? (/└── \{([\s\S]*)\} {2}receiver: d\n/.exec(stdout)?.[1] ?? '') : null;
  };
  const rows = recorded.map(({ input }) => ({
    input,
    utf8: ask(input, 'utf8-strict-mode'),
    classic: ask(input, 'classic-mode'),
  }));
  writeFileSync(FILE, `[\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n]\n`);
}

if (process.env.AMTOOL) record(process.env.AMTOOL);

describe('the grammar of matchers', () => {
  test.each(recorded)('$input', ({ input, utf8, classic }) => {
    const expected = (printed: string | null) => (printed === null ? null : sorted(parseMatchers(printed)));
    expect({ utf8: verdict(parseMatchers, input), classic: verdict(parseClassicMatchers, input) }).toEqual({
      utf8: expected(utf8),
      classic: expected(classic),
    });
  });

  test.each([
    ['severity="critical"', [['severity', '=', 'critical']]],
    [
      'a=~"b|c", "d e"!="f\\n\\u00e9\\xc3\\xa9\\101",',
      [
        ['a', '=~', 'b|c'],
        ['d e', '!=', 'f\néé\u0041'],
      ],
    ],
    ['{ü!~"\\"\\\\."}', [['ü', '!~', '"\\.']]],
  ])('%s is read', (text, expected) => {
    const list = parseMatchers(text);
    const operator = ({ isEqual, isRegex }: Matcher) => `${isEqual ? '=' : '!'}${isRegex ? '~' : ''}`;
    expect(
      list.map((matcher) => [matcher.name, operator(matcher).replace(/^!$/, '!='), matcher.value]),
    ).toEqual(expected);
    expect(parseMatchers(formatMatchers(list))).toEqual(list);
  });

  test.each([
    ['a', 2, 'expected =, !=, =~ or !~'],
    ['a="b" c="d"', 7, 'expected a comma or the end instead of c.'],
    ['ü="b', 3, 'the quote is not closed'],
    ["a='b'", 3, "' must be inside double quotes"],
    ['a="b", c=~"(x"', 11, 'The regular expression is not valid in RE2 syntax'],
    ['a="\\q"', 3, 'has an invalid escape'],
    ['{a="b"', 7, 'expected } at the end'],
    ['a="b"}', 6, 'expected the end instead of }'],
    ['a=~"(\\\\pL{1,100}){1,100}"', 4, 'too large'],
    ['""="b"', 1, 'expected the name of a label'],
  ])('%s is refused at its position %i', (text, position, reason) => {
    expect(() => parseMatchers(text)).toThrow(
      expect.objectContaining({ position, message: expect.stringContaining(reason) }),
    );
  });
});
