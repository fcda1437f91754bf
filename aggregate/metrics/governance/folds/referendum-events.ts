import { parseAmount } from '../../../../ingest/decode/amount.ts';
import { asFields, type Fact, parseIndex, parseNested } from '../../shared/facts.ts';

export interface Tally {
  readonly ayes: bigint;
  readonly nays: bigint;
  readonly support: bigint;
}

export type ReferendumOutcome = 'Approved' | 'Rejected' | 'TimedOut' | 'Cancelled' | 'Killed';

/** An event of `referenda`; missing fields are null. */
export interface ReferendumEvent {
  readonly name: string;
  readonly index: number;
  readonly track: number | null;
  readonly proposal: unknown;
  readonly tally: Tally | null;
  readonly deposit: bigint | null;
  /** The outcome, when the event ends the referendum. */
  readonly outcome: ReferendumOutcome | null;
}

interface Shape {
  /** Positions of the fields in the data of the event. */
  readonly track?: number;
  readonly proposal?: number;
  readonly tally?: number;
  readonly deposit?: number;
  readonly outcome?: ReferendumOutcome;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  Submitted: { track: 1, proposal: 2 },
  DecisionDepositPlaced: { deposit: 2 },
  DecisionStarted: { track: 1, proposal: 2, tally: 3 },
  ConfirmStarted: {},
  ConfirmAborted: {},
  Confirmed: { tally: 1, outcome: 'Approved' },
  Approved: { outcome: 'Approved' },
  Rejected: { tally: 1, outcome: 'Rejected' },
  TimedOut: { tally: 1, outcome: 'TimedOut' },
  Cancelled: { tally: 1, outcome: 'Cancelled' },
  Killed: { tally: 1, outcome: 'Killed' },
  // These events change only the chain of the newest event.
  SubmissionDepositRefunded: {},
  MetadataSet: {},
};

/** Events that change a referendum. */
export const REFERENDUM_EVENTS = Object.keys(SHAPES);
const PALLET = 'referenda.';

/** Null for other events, and for events with a malformed field. */
export function readReferendumEvent(fact: Fact): ReferendumEvent | null {
  if (fact.kind !== 'event' || fact.refused || !fact.name.startsWith(PALLET)) return null;
  const name = fact.name.slice(PALLET.length);
  const shape = SHAPES[name];
  const index = parseIndex(fact.data[0]);
  if (!shape || index === null) return null;
  const at = (position: number | undefined) => (position === undefined ? undefined : fact.data[position]);
  const track = shape.track === undefined ? null : parseIndex(at(shape.track));
  const tally = shape.tally === undefined ? null : readTally(parseNested(at(shape.tally)));
  const deposit = shape.deposit === undefined ? null : parseAmount(at(shape.deposit));
  const isWhole =
    (shape.track === undefined || track !== null) &&
    (shape.tally === undefined || tally !== null) &&
    (shape.deposit === undefined || deposit !== null);
  if (!isWhole) return null;
  const proposal = shape.proposal === undefined ? null : readProposal(at(shape.proposal));
  return { name, index, track, proposal, tally, deposit, outcome: shape.outcome ?? null };
}

/** The oldest runtimes have the bare hash. */
const readProposal = (text: string | undefined): unknown =>
  text?.startsWith('{') ? parseNested(text) : text;

function readTally(value: unknown): Tally | null {
  const fields = asFields(value);
  const [ayes, nays, support] = [fields.ayes, fields.nays, fields.support].map(parseAmount);
  if (ayes == null || nays == null || support == null) return null;
  return { ayes, nays, support };
}
