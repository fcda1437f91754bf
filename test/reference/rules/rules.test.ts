import { describe, expect, it } from 'vitest';
import { ANSWERS } from '../answers.ts';
import { type Input, readLines } from '../input.ts';
import { RULES, rowsOfCase } from './index.ts';
import type { Row } from './rule.ts';

/** Each path once for each input. */
function answersOf(input: Input): (request: string) => readonly Row[] {
  const known = new Map<string, readonly Row[]>();
  return (request) => {
    const answer = ANSWERS.find(({ path, query }) => path + query === request);
    const rows = known.get(request) ?? (answer?.rows(input) as readonly Row[]);
    known.set(request, rows);
    return rows;
  };
}

describe.each(Object.keys(RULES))('%s', (name) => {
  const rules = RULES[name] ?? [];
  const input = readLines(rules.flatMap(({ lines }) => lines));
  const answer = answersOf(input);

  it.each(rules.flatMap(({ siblings }) => siblings))('$title: $path', (sibling) => {
    expect(rowsOfCase(sibling, answer(sibling.path))).toEqual(sibling.rows);
  });

  it('refuses lines', () => {
    const reasons = input.refusedLines.map(({ reason }) => reason);
    expect(reasons).toEqual(
      rules.flatMap(({ refused }) => refused).map((reason) => expect.stringContaining(reason)),
    );
  });
});
