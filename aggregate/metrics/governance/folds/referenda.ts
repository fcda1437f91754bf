import { isoDay } from '../../../../infra/days.ts';
import { parseAmount } from '../../../../ingest/decode/amount.ts';
import { dividedDown } from '../../shared/amounts.ts';
import { Chains } from '../../shared/chains.ts';
import { asFields, type Fact, groupByExtrinsic, type Moment, parseNested } from '../../shared/facts.ts';
import { originsOfTracks, proposalHash, readOrigin } from './origins.ts';
import {
  type ReferendumEvent,
  type ReferendumOutcome,
  readReferendumEvent,
  type Tally,
} from './referendum-events.ts';
import { stepsOfReferendum, tracksOf } from './steps.ts';

interface Referendum {
  readonly index: number;
  origin: string | null;
  submitter: string | null;
  proposal: unknown;
  submitted: Moment | null;
  deciding: Moment | null;
  confirming: Moment | null;
  deposit: bigint | null;
  tally: Tally | null;
  /** Active issuance in the last snapshot before the tally; null without one. */
  electorate: bigint | null;
  outcome: ReferendumOutcome | null;
  ended: Moment | null;
  last: Moment;
}

/** Every referendum in its last known state. */
export function referendumResults(relayChain: string, rows: readonly Fact[]): Record<string, unknown>[] {
  const chains = new Chains(relayChain, rows);
  const tracks = tracksOf(rows.flatMap((row) => [...stepsOfReferendum(row)]));
  const origins = originsOfTracks(rows);
  return [...foldReferenda(rows).values()].map((referendum) => {
    const track = tracks.get(referendum.index) ?? null;
    const origin = referendum.origin ?? (track === null ? null : (origins.get(track) ?? null));
    return { relay_chain: relayChain, track, origin, ...toRow(referendum, chains) };
  });
}

function foldReferenda(facts: readonly Fact[]): Map<number, Referendum> {
  const referenda = new Map<number, Referendum>();
  let electorate: bigint | null = null;
  for (const group of groupByExtrinsic(facts)) {
    const submissions = group.filter(({ kind }) => kind === 'call');
    for (const fact of group) {
      if (fact.kind === 'snapshot' && fact.name === 'issuance') electorate = electorateOf(fact) ?? electorate;
      // The k-th executed submission belongs to the k-th event, even if the decoder refused the event.
      const call = fact.name === 'referenda.Submitted' ? submissions.shift() : undefined;
      const event = readReferendumEvent(fact);
      if (!event) continue;
      const referendum = referenda.get(event.index) ?? unknownReferendum(event.index, fact);
      referenda.set(event.index, referendum);
      applyEvent(referendum, event, fact, electorate);
      if (call) applySubmission(referendum, call);
    }
  }
  return referenda;
}

function applyEvent(
  referendum: Referendum,
  event: ReferendumEvent,
  moment: Moment,
  electorate: bigint | null,
): void {
  // A referendum ends once: later confirmations and approvals change nothing.
  if (event.outcome && referendum.outcome && !event.tally) return;
  referendum.last = moment;
  if (event.tally) {
    referendum.tally = event.tally;
    referendum.electorate = electorate;
  }
  if (event.deposit !== null) referendum.deposit = event.deposit;
  if (event.proposal !== null) referendum.proposal ??= event.proposal;
  if (event.name === 'Submitted') referendum.submitted ??= moment;
  if (event.name === 'DecisionStarted') referendum.deciding = moment;
  if (event.name === 'ConfirmStarted') referendum.confirming = moment;
  if (event.name === 'ConfirmAborted') referendum.confirming = null;
  if (event.outcome && !referendum.outcome) {
    referendum.outcome = event.outcome;
    referendum.ended = moment;
  }
}

function applySubmission(referendum: Referendum, call: Fact): void {
  referendum.origin = readOrigin(asFields(parseNested(call.data[0])).proposal_origin);
  referendum.submitter = call.actor === '' ? null : call.actor;
}

function unknownReferendum(index: number, last: Moment): Referendum {
  return {
    index,
    origin: null,
    submitter: null,
    proposal: null,
    submitted: null,
    deciding: null,
    confirming: null,
    deposit: null,
    tally: null,
    electorate: null,
    outcome: null,
    ended: null,
    last,
  };
}

function electorateOf(snapshot: Fact): bigint | null {
  const { total, inactive } = asFields(parseNested(snapshot.data[0]));
  const [all, idle] = [parseAmount(total), parseAmount(inactive)];
  return all === null || idle === null || idle >= all ? null : all - idle;
}

function toRow(referendum: Referendum, chains: Chains): Record<string, unknown> {
  const { chain } = referendum.last;
  const { tally, submitted, ended, deciding, confirming, deposit, submitter, electorate } = referendum;
  const native = (planck: bigint | null | undefined) =>
    planck == null ? null : chains.native(planck, chain);
  const exact = (planck: bigint | null | undefined) => planck?.toString() ?? null;
  return {
    chain,
    referendum_index: referendum.index,
    ayes: native(tally?.ayes),
    ayes_planck: exact(tally?.ayes),
    nays: native(tally?.nays),
    nays_planck: exact(tally?.nays),
    support: native(tally?.support),
    support_planck: exact(tally?.support),
    approval: tally && shareOf(tally.ayes, tally.ayes + tally.nays),
    turnout_pct: tally && electorate && shareOf(tally.support * 100n, electorate),
    outcome: referendum.outcome ?? 'Ongoing',
    submitted_block: submitted?.number ?? null,
    end_block: ended?.number ?? null,
    start_date: submitted && isoDay(submitted.at),
    end_date: ended && isoDay(ended.at),
    deciding_block: deciding?.number ?? null,
    confirm_block: confirming?.number ?? null,
    decision_deposit: native(deposit),
    decision_deposit_planck: exact(deposit),
    submitter: submitter && chains.address(submitter, chain),
    proposal_hash: proposalHash(referendum.proposal),
  };
}

const shareOf = (part: bigint, whole: bigint): number | null =>
  whole === 0n ? null : dividedDown(part, whole, 0);
