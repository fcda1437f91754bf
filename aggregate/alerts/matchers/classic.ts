import { type Matcher, MatcherError, newMatcher, type Operator } from './matcher.ts';
import { validMatcher } from './parse.ts';

// Alertmanager's grammar before 0.27. Older clients use it.

const SPACES = '\t\n\f\r ';
const NAME_AND_OPERATOR = /^[\t\n\f\r ]*([a-zA-Z_:][a-zA-Z0-9_:]*)[\t\n\f\r ]*(=~|=|!=|!~)/;

export function parseClassicMatchers(text: string): readonly Matcher[] {
  const inner = text.replace(/^\{/, '').replace(/\}$/, '');
  return splitAtCommas(inner).map(parseMatcher);
}

/** Ignores commas inside quotes. */
function splitAtCommas(text: string): readonly string[] {
  const parts = [''];
  let isQuoted = false;
  let isEscaped = false;
  for (const character of text) {
    if (character === ',' && !isQuoted) {
      parts.push('');
      continue;
    }
    if (character === '"' && !isEscaped) isQuoted = !isQuoted;
    isEscaped = character === '\\' && !isEscaped;
    parts[parts.length - 1] += character;
  }
  return parts.at(-1)?.trim() === '' ? parts.slice(0, -1) : parts;
}

function parseMatcher(text: string): Matcher {
  const match = NAME_AND_OPERATOR.exec(text);
  if (match === null) throw new MatcherError(`${text} is not a matcher. Write it like severity="critical".`);
  const [before, name = '', operator] = match;
  return validMatcher(
    newMatcher(name, operator as Operator, unescapeValue(trimSpaces(text.slice(before.length)))),
    0,
  );
}

function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACES.includes(text.charAt(start))) start++;
  while (end > start && SPACES.includes(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** A backslash that escapes nothing stands for itself. */
function unescapeValue(text: string): string {
  const isQuoted = text.startsWith('"');
  const inner = isQuoted ? text.slice(1) : text;
  const [, value = '', rest] = /^((?:\\[\s\S]|[^"\\]|\\$)*)([\s\S]*)$/.exec(inner) ?? [];
  if (rest !== (isQuoted ? '"' : '')) {
    throw new MatcherError(
      `${text} has a quote that is not escaped or not closed. Put the value in double quotes, and write \\" for a quote inside.`,
    );
  }
  return value.replace(/\\([n"\\])/g, (_, character) => (character === 'n' ? '\n' : character));
}
