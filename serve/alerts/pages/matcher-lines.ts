import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { formatMatchers } from '../../../aggregate/alerts/matchers/parse.ts';
import { requireMatchers, requireSelectiveMatchers } from '../model/entered-matchers.ts';

// Matchers in a field of several lines: each line has one or more.

export const linesOf = (matchers: readonly Matcher[]): string =>
  matchers.map((matcher) => formatMatchers([matcher])).join('\n');

export const matchersIn = (text: string, field: string) => requireMatchers(listOfLines(text), field);

/** The same for silences and windows, whose matchers must not match every alert. */
export const selectiveMatchersIn = (text: string, field: string) =>
  requireSelectiveMatchers(listOfLines(text), field);

const listOfLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim().replace(/,$/, ''))
    .filter((line) => line !== '')
    .join(', ');
