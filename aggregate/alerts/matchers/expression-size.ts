/** Tokens of a regular expression. Classes and escapes are one token, because each matches one character. */
const TOKENS =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/**
 * Estimates the number of compiled instructions, within a factor of about two. Compiling a short expression can take
 * seconds, because RE2 copies repetitions.
 */
export function expressionSize(expression: string): number {
  const outer: number[] = [];
  let size = 0;
  let atom = 0;
  const add = (tokens: number) => {
    size += tokens;
    atom = tokens;
  };
  for (const [token, min, max] of expression.matchAll(TOKENS)) {
    if (min !== undefined) {
      const copies = Math.max(Number(min), Number(max || min), 1);
      size += atom * (copies - 1);
      atom *= copies;
    } else if (token === '(') {
      outer.push(size);
      size = 0;
    } else if (token === ')') {
      const before = outer.pop() ?? 0;
      atom = size + 1;
      size = before + atom;
    } else if (token !== '*' && token !== '+' && token !== '?') {
      add(token.startsWith('\\Q') ? token.length : 1);
    }
  }
  return outer.reduce((sum, part) => sum + part, size);
}
