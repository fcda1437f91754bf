import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { formatMatchers } from '../../../aggregate/alerts/matchers/parse.ts';
import { requireMatchers, requireSelectiveMatchers } from '../model/entered-matchers.ts';

// Parses matchers in a text area. Each line has one or more matchers.

export const linesOf = (matchers: readonly Matcher[]): string =>
  matchers.map((matcher) => formatMatchers([matcher])).join('\n');

export const matchersIn = (text: string, field: string) => requireMatchers(listOfLines(text), field);

/** Like the function above, for silences and windows, whose matchers must not match every alert. */
export const selectiveMatchersIn = (text: string, field: string) =>
  requireSelectiveMatchers(listOfLines(text), field);

const listOfLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim().replace(/,$/, ''))
    .filter((line) => line !== '')
    .join(', ');
