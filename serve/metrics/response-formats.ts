import type { Format } from '../../infra/ports.ts';

/** Response formats by their name in `format=` and on the command line. */
export const RESPONSE_FORMATS: Readonly<Record<string, { format: Format; type: string }>> = {
  json: { format: 'JSON', type: 'application/json; charset=utf-8' },
  csv: { format: 'CSV', type: 'text/csv; charset=utf-8; header=present' },
  ndjson: { format: 'NDJSON', type: 'application/x-ndjson; charset=utf-8' },
  parquet: { format: 'Parquet', type: 'application/vnd.apache.parquet' },
  arrow: { format: 'Arrow', type: 'application/vnd.apache.arrow.stream' },
};

/** Makes spreadsheets read text as UTF-8. */
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

export const withByteOrderMark = (text: Buffer): Buffer => Buffer.concat([BYTE_ORDER_MARK, text]);

/** Far more media ranges than any client sends. */
const RANGES_MAX = 50;

interface MediaRange {
  readonly type: string;
  readonly quality: number;
  /** 0 for an any-type wildcard, 1 for `text/*`, 2 for an exact type. */
  readonly specificity: number;
}

/**
 * The format that `Accept` prefers (RFC 9110 §12.5.1). At equal quality the more specific range wins, then the first.
 * JSON if it accepts none.
 */
export function acceptedFormat(accept: string | undefined): string {
  if (accept === undefined) return 'json';
  const ranges = accept.split(',', RANGES_MAX).map(mediaRange);
  const [best] = Object.entries(RESPONSE_FORMATS)
    .flatMap(([name, { type }]) => {
      const matching = ranges.filter((range) => includes(range, type.split(';')[0] as string));
      const range = matching.sort((one, other) => other.specificity - one.specificity)[0];
      return range === undefined || range.quality === 0 ? [] : [{ name, range }];
    })
    .sort(
      (one, other) =>
        other.range.quality - one.range.quality ||
        other.range.specificity - one.range.specificity ||
        ranges.indexOf(one.range) - ranges.indexOf(other.range),
    );
  return best?.name ?? 'json';
}

function mediaRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  const specificity = type === '*/*' ? 0 : type.endsWith('/*') ? 1 : 2;
  return {
    type,
    quality: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0,
    specificity,
  };
}

const includes = ({ type, specificity }: MediaRange, wanted: string) =>
  specificity === 0 || (specificity === 1 ? wanted.startsWith(type.slice(0, -1)) : wanted === type);
