/** The literal syntax of a language. */
export interface Notation {
  readonly text: (text: string) => string;
  readonly key: (name: string) => string;
  readonly words: Readonly<Record<'null' | 'true' | 'false', string>>;
  /** Spaces per indentation level. */
  readonly step: number;
  /** Whether an object on one line has spaces inside its braces. */
  readonly isSpaced: boolean;
}

const LINE_CHARS = 80;

/** Formats a JSON value as a literal, on one line if it fits. */
export function literalOf(value: unknown, notation: Notation, indent = 0, room = LINE_CHARS): string {
  const { text, key, words, step, isSpaced } = notation;
  if (typeof value === 'string') return text(value);
  if (value === null || typeof value === 'boolean') return words[String(value) as keyof typeof words];
  if (typeof value !== 'object') return String(value);
  const isList = Array.isArray(value);
  const inner = indent + step;
  const parts = isList
    ? value.map((one) => literalOf(one, notation, inner))
    : Object.entries(value).map(([name, one]) => `${key(name)}: ${literalOf(one, notation, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0) return `${open}${close}`;
  const pad = isSpaced && !isList ? ' ' : '';
  const line = `${open}${pad}${parts.join(', ')}${pad}${close}`;
  if (indent + line.length <= room && !line.includes('\n')) return line;
  return `${open}\n${parts.map((part) => `${' '.repeat(inner)}${part},\n`).join('')}${' '.repeat(indent)}${close}`;
}
