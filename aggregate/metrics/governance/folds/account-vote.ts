import { parseAmount } from '../../../../ingest/decode/amount.ts';
import { asFields, variantOf } from '../../shared/facts.ts';

/** How long tokens are locked for more weight: 0 is None, k is `Locked{k}x`. */
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

/** What a vote puts on one side. */
export interface VotePart {
  readonly direction: Direction;
  readonly conviction: Conviction;
  /** Before conviction, in planck. */
  readonly capital: bigint;
}

/** The vote of an event or call; null when it cannot be read or an amount in it is none. */
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

/** One byte whose high bit says aye and whose rest is the conviction, or both by name. */
function readSide(vote: unknown): { aye: boolean; conviction: Conviction } | null {
  const byte = parseAmount(vote);
  if (byte !== null) {
    const conviction = convictionOf(Number(byte & 0x7fn));
    return byte > 0xffn || conviction === null ? null : { aye: byte >= 0x80n, conviction };
  }
  const named = asFields(vote);
  const conviction = readConviction(named.conviction);
  return typeof named.aye === 'boolean' && conviction !== null ? { aye: named.aye, conviction } : null;
}

/** `"None"`, `"Locked3x"`, or the same as an object. */
export function readConviction(value: unknown): Conviction | null {
  const name = variantOf(value)?.name;
  const index = NAMES.findIndex((known) => known.toLowerCase() === name?.toLowerCase());
  return index < 0 ? null : convictionOf(index);
}

export function convictionOf(index: unknown): Conviction | null {
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index <= 6
    ? (index as Conviction)
    : null;
}

const NAMES = ['None', 'Locked1x', 'Locked2x', 'Locked3x', 'Locked4x', 'Locked5x', 'Locked6x'] as const;
export const convictionName = (conviction: Conviction): string => NAMES[conviction];

export const multiplierOf = (conviction: Conviction): number => (conviction === 0 ? 0.1 : conviction);

/** Votes after conviction: a tenth, rounded down, without a lock; a multiple with one. */
export function weigh(capital: bigint, conviction: Conviction): bigint {
  return conviction === 0 ? capital / 10n : capital * BigInt(conviction);
}

/** The sides that a vote is on. Split votes carry no conviction, and nothing where they put nothing. */
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
