import { isoDay } from '../../../../infra/days.ts';
import { type Fact, isoTimeOf, type Moment } from '../../shared/facts.ts';
import type { AccountVote, Conviction } from './account-vote.ts';
import { type DelegationTerms, type Step, votingSteps } from './steps.ts';

/** The kind of entity that a step changes; `snapshot` replaces all delegations. */
export const STEP_SUBJECTS = ['referendum', 'vote', 'delegation', 'snapshot'] as const;
type StepSubject = (typeof STEP_SUBJECTS)[number];

/** A vote has its type as its kind; a delegation in a snapshot is `listed`. */
export const STEP_KINDS = [
  'submitted',
  'deciding',
  'end',
  'Standard',
  'Split',
  'SplitAbstain',
  'removal',
  'delegation',
  'undelegation',
  'listed',
  'snapshot',
] as const;
type StepKind = (typeof STEP_KINDS)[number];

/** A step without its moment. A snapshot is one row, followed by a row for each of its delegations. */
interface StepFields {
  readonly subject: StepSubject;
  readonly kind: StepKind;
  /** Index of the referendum, or the track; 0 for a snapshot. */
  readonly entity: number;
  readonly account: string;
  readonly target: string;
  readonly track: number;
  readonly conviction: number;
  /** The balance of a Standard vote or of a delegation. */
  readonly balance: string;
  readonly aye: string;
  readonly nay: string;
  readonly abstain: string;
  readonly is_aye: boolean;
}

/** A stored step as the fold reads it. `at` is in milliseconds; `number` is 0 outside of blocks. */
export interface StoredStep extends StepFields {
  readonly chain: string;
  readonly at: number;
  readonly after_blocks: number;
  readonly number: number;
  readonly place: number;
}

const NOTHING = {
  entity: 0,
  account: '',
  target: '',
  track: 0,
  conviction: 0,
  balance: '0',
  aye: '0',
  nay: '0',
  abstain: '0',
  is_aye: false,
} as const;

/** Stores each step of a window under the entity that it changes. */
export function voteStepRows(relayChain: string, facts: readonly Fact[]): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  let last: Moment | null = null;
  let position = 0;
  for (const step of votingSteps(facts)) {
    const { moment } = step;
    const { chain, at, number, place } = moment;
    // The order of the steps of one extrinsic, or of one phase of a block.
    position = last && isSamePlace(last, moment) ? position : 0;
    last = moment;
    for (const fields of fieldsOf(step)) {
      rows.push({
        relay_chain: relayChain,
        chain,
        date: isoDay(at),
        at: isoTimeOf(at),
        after_blocks: number === null ? 1 : 0,
        number: number ?? 0,
        place,
        position: position++,
        ...NOTHING,
        ...fields,
      });
    }
  }
  return rows;
}

const isSamePlace = (a: Moment, b: Moment) =>
  a.at === b.at && a.chain === b.chain && a.number === b.number && a.place === b.place;

function* fieldsOf(step: Step): Generator<Partial<StepFields>> {
  switch (step.kind) {
    case 'submitted':
    case 'deciding':
      yield { subject: 'referendum', kind: step.kind, entity: step.referendum, track: step.track };
      break;
    case 'end':
      yield { subject: 'referendum', kind: 'end', entity: step.referendum };
      break;
    case 'vote':
      yield { subject: 'vote', entity: step.referendum, account: step.voter, ...fieldsOfVote(step.vote) };
      break;
    case 'removal':
      yield { subject: 'vote', kind: 'removal', entity: step.referendum, account: step.voter };
      break;
    case 'delegation':
      yield fieldsOfTerms('delegation', step.terms);
      break;
    case 'undelegation':
      yield { subject: 'delegation', kind: 'undelegation', entity: step.track, account: step.delegator };
      break;
    case 'delegations':
      yield { subject: 'snapshot', kind: 'snapshot' };
      for (const terms of step.terms) yield fieldsOfTerms('listed', terms);
  }
}

function fieldsOfVote(vote: AccountVote): Partial<StepFields> {
  if (vote.type === 'Standard') {
    const { aye, conviction, balance } = vote;
    return { kind: 'Standard', is_aye: aye, conviction, balance: balance.toString() };
  }
  return {
    kind: vote.type,
    aye: vote.aye.toString(),
    nay: vote.nay.toString(),
    abstain: vote.type === 'SplitAbstain' ? vote.abstain.toString() : '0',
  };
}

const fieldsOfTerms = (kind: 'delegation' | 'listed', terms: DelegationTerms): Partial<StepFields> => ({
  subject: 'delegation',
  kind,
  entity: terms.track,
  account: terms.delegator,
  target: terms.target,
  conviction: terms.conviction,
  balance: terms.balance.toString(),
});

/** Reads steps from stored rows in chain order. */
export function storedSteps(rows: Iterable<StoredStep>): Step[] {
  const steps: Step[] = [];
  let listed: DelegationTerms[] = [];
  let order = 0;
  for (const row of rows) {
    const moment = momentOf(row, order++);
    if (row.kind === 'snapshot') {
      listed = [];
      steps.push({ kind: 'delegations', moment, terms: listed });
    } else if (row.kind === 'listed') listed.push(termsOf(row));
    else steps.push({ moment, ...readStep(row, row.kind) });
  }
  return steps;
}

type PlainStep<S> = S extends Step ? Omit<S, 'moment'> : never;

function readStep(row: StoredStep, kind: Exclude<StepKind, 'snapshot' | 'listed'>): PlainStep<Step> {
  const { entity, account } = row;
  switch (kind) {
    case 'submitted':
    case 'deciding':
      return { kind, referendum: entity, track: row.track };
    case 'end':
      return { kind, referendum: entity };
    case 'removal':
      return { kind, voter: account, referendum: entity };
    case 'delegation':
      return { kind, terms: termsOf(row) };
    case 'undelegation':
      return { kind, delegator: account, track: entity };
    default:
      return { kind: 'vote', voter: account, referendum: entity, vote: voteOf(row, kind) };
  }
}

function voteOf(row: StoredStep, type: AccountVote['type']): AccountVote {
  const conviction = row.conviction as Conviction;
  if (type === 'Standard') return { type, aye: row.is_aye, conviction, balance: BigInt(row.balance) };
  const [aye, nay] = [BigInt(row.aye), BigInt(row.nay)];
  return type === 'Split' ? { type, aye, nay } : { type, aye, nay, abstain: BigInt(row.abstain) };
}

const termsOf = ({ account, target, entity, conviction, balance }: StoredStep): DelegationTerms => ({
  delegator: account,
  target,
  track: entity,
  conviction: conviction as Conviction,
  balance: BigInt(balance),
});

const FINALIZATION = 2 ** 32;

function momentOf({ chain, at, after_blocks, number, place }: StoredStep, order: number): Moment {
  const isInExtrinsic = place > 0 && place < FINALIZATION;
  return {
    order,
    chain,
    at,
    place,
    number: after_blocks ? null : number,
    extrinsic_index: isInExtrinsic ? place - 1 : null,
  };
}
