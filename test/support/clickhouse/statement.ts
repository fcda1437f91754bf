/** The parts of a statement that the front parses: where its data are. */

const SETTINGS_THEN_FORMAT =
  /^(?<head>.*?)\s*(?<settings>\bSETTINGS\b[^()]*?)?\s*\bFORMAT\s+(?<format>\w+)\s*;?\s*$/is;
const INPUT = /\binput\(\s*'(?<structure>(?:[^'\\]|\\.)*)'\s*\)/is;

/**
 * Rewrites an INSERT whose data are the request body to one whose data are a file, since chDB has no body. Other
 * statements are unchanged.
 */
export function readingFrom(file: string, statement: string): string {
  const parts = SETTINGS_THEN_FORMAT.exec(statement)?.groups;
  if (!/^\s*INSERT\b/i.test(statement) || !parts) return statement;
  const { head = '', settings = '', format = '' } = parts;
  const structured = INPUT.exec(head);
  if (structured) {
    const table = `file('${file}', '${format}', '${structured.groups?.structure}')`;
    return `${head.slice(0, structured.index)}${table}${head.slice(structured.index + structured[0].length)} ${settings}`;
  }
  return `${head} FROM INFILE '${file}' ${settings} FORMAT ${format}`;
}

/** Whether a statement only reads, as a GET must. */
export const isReading = (statement: string): boolean =>
  /^\s*(?:\/\*.*?\*\/\s*)*\(*\s*(SELECT|WITH|SHOW|DESCRIBE|DESC|EXPLAIN|EXISTS)\b/is.test(statement);

/** Whether the result can be split into parts that are results themselves. */
export function isLineByLine(
  statement: string,
  format: string,
  settings: ReadonlyMap<string, string>,
): boolean {
  const named = /\bFORMAT\s+(\w+)\s*;?\s*$/i.exec(statement)?.[1] ?? format;
  const wraps = /output_format_json_array_of_rows\s*=\s*1/.test(statement);
  return (
    isReading(statement) &&
    ['JSONEachRow', 'TabSeparated', 'TSV', 'CSV', 'JSONCompactEachRow'].includes(named) &&
    !wraps &&
    !settings.has('output_format_json_array_of_rows')
  );
}

/** HTTP statuses of ClickHouse by exception code; all others are 500. */
const STATUS: Readonly<Record<number, number>> = {
  46: 404, 47: 404, 60: 404, 81: 404, 82: 404, 159: 408, 164: 403, 192: 403, 193: 403, 194: 403, 241: 500,
  497: 403, 516: 403, 27: 400, 36: 400, 43: 400, 53: 400, 62: 400, 117: 400, 6: 400, 69: 400, 70: 400, 72: 400,
}; // biome-ignore format: a list of numbers

export interface Exception {
  readonly status: number;
  readonly code: number;
  readonly text: string;
}

/** The message of chDB as the server would write it: once, with the error type at the end. */
export function exceptionOf(error: unknown): Exception {
  const message = error instanceof Error ? error.message : String(error);
  const text = message.replace(/^Code: (\d+)\. DB::Exception: (?=Code: \1\. )/, '').trim();
  const code = Number(/Code: (\d+)/.exec(text)?.[1] ?? 1002);
  const named = /\([A-Z][A-Z0-9_]{3,}\)/.test(text)
    ? text
    : `${text} (${NAMES[code] ?? 'UNKNOWN_EXCEPTION'})`;
  return {
    status: STATUS[code] ?? 500,
    code,
    text: named.startsWith('Code:') ? named : `Code: ${code}. DB::Exception: ${named}`,
  };
}

/** Error types that chDB omits in its messages. */
const NAMES: Readonly<Record<number, string>> = { 62: 'SYNTAX_ERROR' };
