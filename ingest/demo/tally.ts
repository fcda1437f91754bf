import type { DemoKey } from './cast.ts';

export type DemoVote =
  | { readonly aye: boolean; readonly conviction: number; readonly balance: bigint }
  | { readonly parts: { readonly aye: bigint; readonly nay: bigint; readonly abstain: bigint } };

export interface DemoDelegation {
  readonly delegator: DemoKey;
  readonly target: DemoKey;
  readonly track: number;
  readonly conviction: number;
  readonly balance: bigint;
}

/** Sums the votes on a referendum and the delegations of its track, as pallet-conviction-voting does. */
export function tallyOf(
  votes: ReadonlyMap<DemoKey, DemoVote>,
  delegations: readonly DemoDelegation[],
): { ayes: string; nays: string; support: string } {
  let [ayes, nays, support] = [0n, 0n, 0n];
  for (const [voter, vote] of votes) {
    if ('parts' in vote) {
      ayes += vote.parts.aye / 10n;
      nays += vote.parts.nay / 10n;
      support += vote.parts.aye + vote.parts.abstain;
      continue;
    }
    const followers = delegations.filter(({ target }) => target === voter);
    for (const { conviction, balance } of [vote, ...followers]) {
      const weighed = conviction === 0 ? balance / 10n : balance * BigInt(conviction);
      if (vote.aye) [ayes, support] = [ayes + weighed, support + balance];
      else nays += weighed;
    }
  }
  return { ayes: ayes.toString(), nays: nays.toString(), support: support.toString() };
}
