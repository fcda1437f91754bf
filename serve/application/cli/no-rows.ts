import { Transform } from 'node:stream';

/** Longest answer without rows, in any format. */
const HEAD_BYTES_MAX = 2 ** 20;
const LINE_END = 0x0a;
const ARROW_END = Buffer.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/** Passes an answer through, and detects at its end whether it contained rows. */
export class RowDetector extends Transform {
  readonly #format: string;
  readonly #head: Buffer[] = [];
  #bytes = 0;

  constructor(format: string) {
    super();
    this.#format = format;
  }

  override _transform(piece: Buffer, _encoding: string, done: (error: null, piece: Buffer) => void): void {
    if (this.#bytes < HEAD_BYTES_MAX) this.#head.push(piece);
    this.#bytes += piece.length;
    done(null, piece);
  }

  async isEmpty(): Promise<boolean> {
    if (this.#bytes > HEAD_BYTES_MAX) return false;
    const bytes = Buffer.concat(this.#head);
    switch (this.#format) {
      case 'csv': {
        const end = bytes.indexOf(LINE_END);
        return end < 0 || end === bytes.length - 1;
      }
      case 'ndjson':
        return bytes.length === 0;
      case 'json':
        return /^\s*\[\s*\]\s*$/.test(bytes.toString('utf8'));
      case 'arrow':
        return isEmptyArrow(bytes);
      default:
        return isEmptyParquet(bytes);
    }
  }
}

/** An empty stream is the schema and the end marker. */
function isEmptyArrow(bytes: Buffer): boolean {
  if (bytes.length < 8) return true;
  const rest = bytes.subarray(8 + bytes.readInt32LE(4));
  return rest.length === 0 || rest.subarray(0, 8).equals(ARROW_END);
}

async function isEmptyParquet(bytes: Buffer): Promise<boolean> {
  const { parquetMetadata } = await import('hyparquet');
  const whole = new Uint8Array(bytes).buffer;
  return parquetMetadata(whole).num_rows === 0n;
}

/** A probable reason for an answer without rows. */
export function explainNoRows(
  stored: readonly { readonly chain: string; readonly relay_chain: string }[],
  request: {
    readonly chain?: string | undefined;
    readonly relay_chain?: string | undefined;
    readonly from?: string | undefined;
    readonly until?: string | undefined;
  },
): string {
  if (stored.length === 0)
    return 'no block is stored yet; load some with `chain-metrics ingest PATH…` or `chain-metrics backfill`';
  const { chain, relay_chain, from, until } = request;
  const isStored = stored.some(
    (stored) =>
      (chain === undefined || stored.chain === chain) &&
      (relay_chain === undefined || stored.relay_chain === relay_chain),
  );
  if (!isStored && chain !== 'ecosystem')
    return `no block of ${chain ?? `a chain of ${relay_chain}`} is stored; \`chain-metrics chains\` shows the stored heights`;
  if (from !== undefined || until !== undefined)
    return `no matching data are stored ${[from && `from ${from}`, until && `until ${until}`].filter(Boolean).join(' ')}; \`chain-metrics gaps\` shows the stored days`;
  return 'the stored data contain no matching rows';
}
