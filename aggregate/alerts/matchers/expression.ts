import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { reasonOf } from '../../../infra/errors.ts';
import { expressionSize } from './expression-size.ts';
import { MatcherError } from './matcher.ts';

const COMPILED_MAX = 2000;
/** A match takes up to 60 ns for each instruction and character, so this bounds one to about 60 ms. */
const SIZE_MAX = 1000;

const compiled = new LRUCache<string, RE2JS>({ max: COMPILED_MAX });

/** Texts with a bar between them, without other operators; escaped punctuation stands for itself. */
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

/** Whether RE2 finds the expression in the whole text. */
export function matchesWhole(expression: string, text: string): boolean {
  // Asking for the position keeps the library from building an automaton of up to 8 MB for each expression.
  return compile(expression).matcher(text).find();
}

/** Refuses what RE2 refuses, and what takes too long. */
export function requireExpression(expression: string): void {
  if (plainAlternatives(expression) === null) compile(expression);
}

function compile(expression: string): RE2JS {
  const known = compiled.get(expression);
  if (known !== undefined) return known;
  if (expressionSize(expression) > SIZE_MAX) {
    throw new MatcherError(
      'The regular expression is too large with its repetitions written out. Write a shorter one, or use smaller numbers in braces.',
    );
  }
  const program = compileAnchored(expression);
  compiled.set(expression, program);
  return program;
}

function compileAnchored(expression: string): RE2JS {
  try {
    return RE2JS.compile(`^(?:${expression})$`);
  } catch (error) {
    throw new MatcherError(
      `The regular expression cannot be read (${reasonOf(error)}). Write it in the syntax of RE2.`,
    );
  }
}
