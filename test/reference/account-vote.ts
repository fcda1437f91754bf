import { isObject, type Json } from './json.ts';
import { parseAmount } from './numbers.ts';

export type StandardVote = {
  readonly type: 'Standard';
  readonly aye: boolean;
  readonly conviction: number;
  readonly balance: bigint;
};
export type AccountVote =
  | StandardVote
  | { readonly type: 'Split'; readonly aye: bigint; readonly nay: bigint }
  | { readonly type: 'SplitAbstain'; readonly aye: bigint; readonly nay: bigint; readonly abstain: bigint };

const AYE = 0x80;
const STRONGEST = 6;

/** A vote as calls and events write it; null when it is none. */
export function parseVote(value: Json | undefined): AccountVote | null {
  const [kind = '', fields] = isObject(value) ? (Object.entries(value)[0] ?? []) : [];
  if (!isObject(fields)) return null;
  const [aye, nay, abstain] = [fields.aye, fields.nay, fields.abstain].map(parseAmount);
  switch (kind.toLowerCase()) {
    case 'standard': {
      const balance = parseAmount(fields.balance);
      const side = parseSide(fields.vote);
      return side === null || balance === null ? null : { type: 'Standard', ...side, balance };
    }
    case 'split':
      return aye == null || nay == null ? null : { type: 'Split', aye, nay };
    case 'splitabstain':
      return aye == null || nay == null || abstain == null
        ? null
        : { type: 'SplitAbstain', aye, nay, abstain };
    default:
      return null;
  }
}

function parseSide(value: Json | undefined): { aye: boolean; conviction: number } | null {
  if (isObject(value)) {
    const conviction = parseConviction(value.conviction);
    return typeof value.aye !== 'boolean' || conviction === null ? null : { aye: value.aye, conviction };
  }
  const byte = parseAmount(value);
  if (byte === null || byte > 0xffn) return null;
  const conviction = Number(byte) % AYE;
  return conviction > STRONGEST ? null : { aye: byte >= AYE, conviction };
}

/** `None` is 0, `Locked3x` is 3. */
export function parseConviction(value: Json | undefined): number | null {
  const name = isObject(value) ? Object.keys(value)[0] : value;
  if (typeof name !== 'string') return null;
  if (name.toLowerCase() === 'none') return 0;
  const [, digit] = /^locked([1-6])x$/i.exec(name) ?? [];
  return digit === undefined ? null : Number(digit);
}

/** Votes that a capital gives: a tenth without a lock, else a multiple of it. */
export function votesOf(capital: bigint, conviction: number): bigint {
  return conviction === 0 ? capital / 10n : capital * BigInt(conviction);
}
