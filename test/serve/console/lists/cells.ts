/** A cell of a table, as a visitor can read it. */
export interface Cell {
  readonly text: string;
  /** With what is shortened or rounded in the text. */
  readonly full: string;
  /** Whether it shows a value of the API. */
  says(value: unknown): boolean;
}

const ENTITY = /&#(\d+);/g;
const plain = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(ENTITY, (_, code) => String.fromCharCode(Number(code)))
    .trim();

/** The cells of all tables of a page, row by row. */
export function cellsOf(body: string): Cell[][] {
  return [...body.matchAll(/<tr><th scope="row">[\s\S]*?<\/tr>/g)].map(([row]) =>
    [...row.matchAll(/<(td|th)[^>]*>([\s\S]*?)<\/\1>/g)].map(([, , html = '']) => cellOf(html)),
  );
}

function cellOf(html: string): Cell {
  const text = plain(html);
  const exact = /datetime="([^"]*)"/.exec(html)?.[1] ?? /title="([^"]*)"/.exec(html)?.[1];
  const full = exact === undefined ? text : plain(exact);
  return { text, full, says: (value) => says({ text, full }, value) };
}

function says({ text, full }: Pick<Cell, 'text' | 'full'>, value: unknown): boolean {
  if (value === null) return text === '–';
  if (typeof value === 'boolean') return text === (value ? 'Yes' : 'No');
  if (typeof value === 'number') return isNear(numberIn(full), value, full.includes('$') ? 0.00501 : 0);
  const wanted = String(value);
  if (full === wanted) return true;
  const [shown, all] = [lettersOf(full), lettersOf(wanted)];
  return all.startsWith(shown) && shown.length >= Math.min(all.length, LETTERS_SHOWN);
}

/** `60 %` is 0.6, and `$1,234.50` is 1234.5. */
function numberIn(text: string): number {
  const digits = text
    .replaceAll(',', '')
    .replace('−', '-')
    .match(/-?\d+(\.\d+)?/)?.[0];
  return Number(digits) / (text.includes('%') ? 100 : 1);
}

/** Quotients are shown with six digits, and USD with two behind the point. */
const isNear = (shown: number, value: number, cents: number) =>
  Math.abs(shown - value) <= Math.max(Math.abs(value) * 1e-5, cents);

/** Long texts are cut. */
const LETTERS_SHOWN = 100;

/** States are shown in words: `PendingPayout` is "Pending payout". */
const lettersOf = (text: string) => text.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
