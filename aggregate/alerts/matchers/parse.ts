import { reasonOf } from '../../../infra/errors.ts';
import { requireExpression } from './expression.ts';
import { type Matcher, MatcherError, newMatcher, type Operator, operatorOf } from './matcher.ts';
import { quote, unquote } from './quotes.ts';

// Alertmanager's UTF-8 grammar of matchers.

/** Go's white space. */
const SPACE = '\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const WORD = `[^${SPACE}{}!=~,"'\`\\\\]+`;
const TOKEN = new RegExp(
  `[${SPACE}]*(?:(?<mark>[{},])|(?<operator>=~|!=|!~|=)|(?<quoted>"(?:\\\\[\\s\\S]|[^"\\\\])*")|(?<word>${WORD})|(?<end>$))`,
  'uy',
);
const IS_WORD = new RegExp(`^${WORD}$`, 'u');

type TokenKind = 'mark' | 'operator' | 'quoted' | 'word' | 'end';

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Counted from 1. */
  readonly position: number;
}

class Tokens {
  readonly #text: string;
  #offset = 0;
  #next: Token;

  constructor(text: string) {
    this.#text = text;
    this.#next = this.#read();
  }

  peek(): Token {
    return this.#next;
  }

  take(): Token {
    const token = this.#next;
    if (token.kind !== 'end') this.#next = this.#read();
    return token;
  }

  /** Takes a mark if it comes next. */
  skip(mark: '{' | '}' | ','): boolean {
    const isNext = this.#next.kind === 'mark' && this.#next.text === mark;
    if (isNext) this.take();
    return isNext;
  }

  #read(): Token {
    TOKEN.lastIndex = this.#offset;
    const match = TOKEN.exec(this.#text);
    if (match === null) throw this.#unreadable();
    const [[kind, text]] = Object.entries(match.groups ?? {}).filter(([, part]) => part !== undefined) as [
      [TokenKind, string],
    ];
    this.#offset = TOKEN.lastIndex;
    return { kind, text, position: this.#position(this.#offset - text.length) };
  }

  #unreadable(): MatcherError {
    const rest = this.#text.slice(this.#offset).trimStart();
    const position = this.#position(this.#text.length - rest.length);
    return rest.startsWith('"')
      ? new MatcherError('the quote is not closed. Add a double quote at the end.', position)
      : new MatcherError(`${rest.slice(0, 1)} must be inside double quotes.`, position);
  }

  #position(offset: number): number {
    return Array.from(this.#text.slice(0, offset)).length + 1;
  }
}

/** Reads a list of matchers such as `severity="critical", host=~"web-.*"`, with or without braces. */
export function parseMatchers(text: string): readonly Matcher[] {
  const tokens = new Tokens(text);
  const isBraced = tokens.skip('{');
  const matchers: Matcher[] = [];
  while (!isListEnd(tokens)) {
    matchers.push(parseMatcher(tokens));
    if (!tokens.skip(',') && !isListEnd(tokens)) {
      const { position, text: found } = tokens.peek();
      throw new MatcherError(`expected a comma or the end instead of ${found}.`, position);
    }
  }
  if (isBraced && !tokens.skip('}'))
    throw new MatcherError('expected } at the end, because the list begins with {.', tokens.peek().position);
  const rest = tokens.take();
  if (rest.kind !== 'end') throw new MatcherError(`expected the end instead of ${rest.text}.`, rest.position);
  return matchers;
}

function isListEnd(tokens: Tokens): boolean {
  const { kind, text } = tokens.peek();
  return kind === 'end' || text === '}';
}

const NAME = 'the name of a label';

function parseMatcher(tokens: Tokens): Matcher {
  const { position } = tokens.peek();
  const name = textOf(tokens.take(), NAME);
  if (name === '') throw new MatcherError(`expected ${NAME}.`, position);
  const operator = tokens.take();
  if (operator.kind !== 'operator')
    throw new MatcherError('expected =, !=, =~ or !~ after the name of the label.', operator.position);
  const value = tokens.peek();
  return validMatcher(
    newMatcher(name, operator.text as Operator, textOf(tokens.take(), 'a value ("" for none)')),
    value.position,
  );
}

function textOf({ kind, text, position }: Token, expected: string): string {
  if (kind === 'word') return text;
  if (kind !== 'quoted') throw new MatcherError(`expected ${expected}.`, position);
  const unquoted = unquote(text);
  if (unquoted === null) {
    throw new MatcherError(
      `${text} has an invalid escape. Write \\\\ for a backslash, \\" for a quote and \\n for a line break.`,
      position,
    );
  }
  return unquoted;
}

/** Returns the matcher. Throws if RE2 rejects its expression. */
export function validMatcher(matcher: Matcher, position: number): Matcher {
  try {
    if (matcher.isRegex) requireExpression(matcher.value);
  } catch (error) {
    throw new MatcherError(reasonOf(error), position);
  }
  return matcher;
}

/** The inverse of `parseMatchers`. */
export const formatMatchers = (list: readonly Matcher[]): string => list.map(formatMatcher).join(', ');

const formatMatcher = (matcher: Matcher): string =>
  `${IS_WORD.test(matcher.name) ? matcher.name : quote(matcher.name)}${operatorOf(matcher)}${quote(matcher.value)}`;
