import type { Path } from '../../../aggregate/alerts/model/mapping.ts';

/** A name without quotes, or a name in quotes as in JSON. */
const PLAIN = String.raw`[^\s.,=[\]"]+`;
const NAME = String.raw`(?:${PLAIN}|"(?:[^"\\]|\\.)*")`;
const INDEX = String.raw`\[\d{1,4}\]`;
const PATH = String.raw`${NAME}(?:\.${NAME}|${INDEX})*`;

const IS_PLAIN = new RegExp(`^${PLAIN}$`);
const IS_LIST = new RegExp(String.raw`^\s*${PATH}\s*(?:,\s*${PATH}\s*)*$`);
const EACH_PATH = new RegExp(PATH, 'g');
const EACH_STEP = new RegExp(`${NAME}|${INDEX}`, 'g');

/** A path as members enter it: `data.hosts[0]."a b"`. */
export const formatPath = (path: Path): string =>
  path
    .map((step, i) => {
      if (typeof step === 'number') return `[${step}]`;
      return `${i === 0 ? '' : '.'}${IS_PLAIN.test(step) ? step : JSON.stringify(step)}`;
    })
    .join('');

/** The paths in a text, separated by commas; null for any other text. */
export function parsePaths(text: string): Path[] | null {
  if (text.trim() === '') return [];
  if (!IS_LIST.test(text)) return null;
  return [...text.matchAll(EACH_PATH)].map(([path]) =>
    [...path.matchAll(EACH_STEP)].map(([step]) => stepIn(step)),
  );
}

function stepIn(text: string): string | number {
  if (text.startsWith('[')) return Number(text.slice(1, -1));
  if (!text.startsWith('"')) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    return text;
  }
}
