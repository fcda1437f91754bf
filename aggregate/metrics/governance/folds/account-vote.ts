import { parseAmount } from '../../../../ingest/decode/amount.ts';
import { asFields, variantOf } from '../../shared/facts.ts';

/** 0 is `None`, k is `Locked{k}x`. */
export type Conviction = 0 | 1 | 2 | 3 | 4 | 5 | 6;
export type Direction = 'aye' | 'nay' | 'abstain';

export type AccountVote =
  | {
      readonly type: 'Standard';
      readonly aye: boolean;
      readonly conviction: Conviction;
      readonly balance: bigint;
    }
  | { readonly type: 'Split'; readonly aye: bigint; readonly nay: bigint }
  | { readonly type: 'SplitAbstain'; readonly aye: bigint; readonly nay: bigint; readonly abstain: bigint };

/** The part of a vote on one side. */
interface VotePart {
  readonly direction: Direction;
  readonly conviction: Conviction;
  /** Before conviction, in planck. */
  readonly capital: bigint;
}

/** Reads the vote of an event or call; null when it or one of its amounts is malformed. */
export function readVote(value: unknown): AccountVote | null {
  const variant = variantOf(value);
  const fields = asFields(variant?.value);
  const aye = parseAmount(fields.aye);
  const nay = parseAmount(fields.nay);
  if (variant?.name === 'standard') return readStandard(fields);
  if (variant?.name === 'split') return aye === null || nay === null ? null : { type: 'Split', aye, nay };
  if (variant?.name !== 'splitAbstain') return null;
  const abstain = parseAmount(fields.abstain);
  if (aye === null || nay === null || abstain === null) return null;
  return { type: 'SplitAbstain', aye, nay, abstain };
}

function readStandard({ vote, balance }: Readonly<Record<string, unknown>>): AccountVote | null {
  const amount = parseAmount(balance);
  const side = readSide(vote);
  return amount === null || side === null ? null : { type: 'Standard', ...side, balance: amount };
}

/** Reads a byte, whose high bit means aye and whose other bits are the conviction, or an object with both fields. */
function readSide(vote: unknown): { aye: boolean; conviction: Conviction } | null {
  const byte = parseAmount(vote);
  if (byte !== null) {
    const conviction = convictionOf(Number(byte & 0x7fn));
    return byte > 0xffn || conviction === null ? null : { aye: byte >= 0x80n, conviction };
  }
  const object = asFields(vote);
  const conviction = readConviction(object.conviction);
  return typeof object.aye === 'boolean' && conviction !== null ? { aye: object.aye, conviction } : null;
}

/** Reads `"None"`, `"Locked3x"`, or the object form of the enum. */
export function readConviction(value: unknown): Conviction | null {
  const name = variantOf(value)?.name;
  const index = CONVICTION_NAMES.findIndex((known) => known.toLowerCase() === name?.toLowerCase());
  return index < 0 ? null : convictionOf(index);
}

export function convictionOf(index: unknown): Conviction | null {
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index <= 6
    ? (index as Conviction)
    : null;
}

export const CONVICTION_NAMES = [
  'None',
  'Locked1x',
  'Locked2x',
  'Locked3x',
  'Locked4x',
  'Locked5x',
  'Locked6x',
] as const;
export const convictionName = (conviction: Conviction): string => CONVICTION_NAMES[conviction];

export const multiplierOf = (conviction: Conviction): number => (conviction === 0 ? 0.1 : conviction);

/** Capital times conviction, rounded down to whole planck. */
export function weigh(capital: bigint, conviction: Conviction): bigint {
  return conviction === 0 ? capital / 10n : capital * BigInt(conviction);
}

/** The parts of a vote by side. Split votes have no conviction, and no part for a side without tokens. */
export function partsOf(vote: AccountVote): VotePart[] {
  if (vote.type === 'Standard') {
    return [{ direction: vote.aye ? 'aye' : 'nay', conviction: vote.conviction, capital: vote.balance }];
  }
  const parts: VotePart[] = [
    { direction: 'aye', conviction: 0, capital: vote.aye },
    { direction: 'nay', conviction: 0, capital: vote.nay },
  ];
  if (vote.type === 'SplitAbstain')
    parts.push({ direction: 'abstain', conviction: 0, capital: vote.abstain });
  return parts.filter(({ capital }) => capital > 0n);
}
