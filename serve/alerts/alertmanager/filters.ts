import { parseClassicMatchers } from '../../../aggregate/alerts/matchers/classic.ts';
import { type Matcher, MatcherError } from '../../../aggregate/alerts/matchers/matcher.ts';
import { parseMatchers } from '../../../aggregate/alerts/matchers/parse.ts';
import { RequestRefused } from '../model/access.ts';
import { MATCHERS_MAX, requireLimits } from '../model/entered-matchers.ts';

/** If the two grammars parse a filter differently, the classic grammar wins, as in Alertmanager. Older clients use it. */
export const filtersOf = (texts: readonly string[]): readonly Matcher[] =>
  requireLimits(texts.slice(0, MATCHERS_MAX + 1).flatMap(filterOf), 'filter');

function filterOf(text: string): readonly Matcher[] {
  try {
    return parseClassicMatchers(text);
  } catch {
    return parseStrictly(text);
  }
}

function parseStrictly(text: string): readonly Matcher[] {
  try {
    return parseMatchers(text);
  } catch (error) {
    if (error instanceof MatcherError) throw new RequestRefused('bad_request', error.message, 'filter');
    throw error;
  }
}

export const isSameMatcher = (a: Matcher, b: Matcher): boolean =>
  a.name === b.name && a.value === b.value && a.isRegex === b.isRegex && a.isEqual === b.isEqual;
