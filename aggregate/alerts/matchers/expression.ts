import { LRUCache } from 'lru-cache';
import { RE2Set } from 're2js';
import { reasonOf } from '../../../infra/errors.ts';
import { expressionSize } from './expression-size.ts';
import { MatcherError } from './matcher.ts';

const COMPILED_MAX = 2000;
/** Instructions of all compiled expressions. The largest expression takes 155 KiB, a usual one 34 KiB. */
const COMPILED_SIZE_MAX = 60_000;
/**
 * If an automaton exceeds its memory, a match takes some nanoseconds per instruction and character: 0.5 ms for a label of
 * 40 characters, 2 ms for the longest label.
 */
export const EXPRESSION_SIZE_MAX = 200;
/** Memory of the automaton. Usual expressions take a few kilobytes. */
const AUTOMATON_BYTES_MAX = 128 * 1024;

const compiled = new LRUCache<string, RE2Set>({ max: COMPILED_MAX, maxSize: COMPILED_SIZE_MAX });

/** Texts separated by bars, without other operators. Escaped punctuation is literal. */
const PLAIN_ALTERNATIVES = /^(?:[^\\.+*?()|[\]{}^$]|\\[!-/:-@[-`{-~]|\|)*$/u;

/** The texts of plain alternatives; null for other expressions. */
export function plainAlternatives(expression: string): ReadonlySet<string> | null {
  if (!PLAIN_ALTERNATIVES.test(expression)) return null;
  const texts = [''];
  for (const [token] of expression.matchAll(/\\[\s\S]|[\s\S]/gu)) {
    if (token === '|') texts.push('');
    else texts[texts.length - 1] += token.startsWith('\\') ? token.slice(1) : token;
  }
  return new Set(texts);
}

/** Whether the expression matches the whole text. */
export function matchesWhole(expression: string, text: string): boolean {
  return compile(expression).match(text).length > 0;
}

/** Throws `MatcherError` if RE2 rejects the expression or it compiles to too many instructions. */
export function requireExpression(expression: string): void {
  if (plainAlternatives(expression) === null) compile(expression);
}

function compile(expression: string): RE2Set {
  const cached = compiled.get(expression);
  if (cached !== undefined) return cached;
  const size = expressionSize(expression);
  if (size > EXPRESSION_SIZE_MAX) {
    throw new MatcherError(
      'The regular expression is too large when its repetitions are expanded. Shorten it, or use smaller numbers in braces.',
    );
  }
  const program = compileAnchored(expression);
  compiled.set(expression, program, { size: size + 1 });
  return program;
}

function compileAnchored(expression: string): RE2Set {
  try {
    const program = new RE2Set(RE2Set.ANCHOR_BOTH, 0, AUTOMATON_BYTES_MAX);
    program.add(`^(?:${expression})$`);
    program.compile();
    return program;
  } catch (error) {
    throw new MatcherError(`The regular expression is not valid in RE2 syntax (${reasonOf(error)}).`);
  }
}
