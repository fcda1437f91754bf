import { EXPRESSION_SIZE_MAX, plainAlternatives } from '../../../aggregate/alerts/matchers/expression.ts';
import { expressionSize } from '../../../aggregate/alerts/matchers/expression-size.ts';
import { type Matcher, MatcherError } from '../../../aggregate/alerts/matchers/matcher.ts';
import { matchesEmptyLabels } from '../../../aggregate/alerts/matchers/matcher-list.ts';
import { parseMatchers, validMatcher } from '../../../aggregate/alerts/matchers/parse.ts';
import { RequestRefused } from './access.ts';

export const MATCHERS_MAX = 20;
const NAME_LENGTH_MAX = 128;
/** Limit of the names and values of a list together. One matcher may list many values. */
const LIST_LENGTH_MAX = 4096;
/** Higher than LIST_LENGTH_MAX, because quotes and escapes make the text longer than the list. */
const TEXT_LENGTH_MAX = 4 * LIST_LENGTH_MAX;

/** Reads the matchers that a user entered, and refuses them with the field and the position at fault. */
export function requireMatchers(text: string, field: string): readonly Matcher[] {
  if (text.length > TEXT_LENGTH_MAX)
    throw new RequestRefused('bad_request', `Enter at most ${TEXT_LENGTH_MAX} characters.`, field);
  return requireLimits(
    refuse(() => parseMatchers(text), field),
    field,
  );
}

/**
 * Like `requireMatchers`, but refuses a list that matches every alert: it would suppress all pages, or make every
 * alert a heartbeat.
 */
export const requireSelectiveMatchers = (text: string, field: string): readonly Matcher[] =>
  requireSelective(requireMatchers(text, field), field);

/** Like `requireSelectiveMatchers`, for matchers that a client sent as a list. */
export function requireSelectiveList(list: readonly Matcher[], field: string): readonly Matcher[] {
  requireLimits(list, field);
  return requireSelective(
    refuse(() => list.map((matcher) => validMatcher(matcher, 0)), field),
    field,
  );
}

function refuse<T>(read: () => T, field: string): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MatcherError) throw new RequestRefused('bad_request', error.message, field);
    throw error;
  }
}

/** Refuses a list that needs much memory, or more than a few milliseconds to match. */
export function requireLimits(list: readonly Matcher[], field: string): readonly Matcher[] {
  if (list.length > MATCHERS_MAX)
    throw new RequestRefused('bad_request', `Enter at most ${MATCHERS_MAX} matchers.`, field);
  for (const { name } of list) {
    if (name === '' || name.length > NAME_LENGTH_MAX) {
      const text = `The name of a label has 1 to ${NAME_LENGTH_MAX} characters.`;
      throw new RequestRefused('bad_request', text, field);
    }
  }
  const length = list.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  if (length > LIST_LENGTH_MAX) {
    const text = `The matchers have ${length} characters together. Write at most ${LIST_LENGTH_MAX}.`;
    throw new RequestRefused('bad_request', text, field);
  }
  const expressions = list.filter(({ isRegex, value }) => isRegex && plainAlternatives(value) === null);
  const size = expressions.reduce((sum, { value }) => sum + expressionSize(value), 0);
  if (size > EXPRESSION_SIZE_MAX) {
    const text =
      'The regular expressions are too large together, with their repetitions written out. Write shorter ones, or use smaller numbers in braces.';
    throw new RequestRefused('bad_request', text, field);
  }
  return list;
}

function requireSelective(list: readonly Matcher[], field: string): readonly Matcher[] {
  if (matchesEmptyLabels(list)) {
    throw new RequestRefused(
      'bad_request',
      'These matchers also match an alert without labels, so they would match nearly all. Add one that requires a value, such as severity="low".',
      field,
    );
  }
  return list;
}
