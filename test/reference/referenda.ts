import { isNamed, type PlacedEvent } from './calls.ts';
import type { ExecutedCall } from './executed.ts';
import type { Government, Happening, Moment } from './governance.ts';
import { isObject, type Json } from './json.ts';
import { parseAmount, parseIndex } from './numbers.ts';

export type Tally = { readonly ayes: bigint; readonly nays: bigint; readonly support: bigint };

export type Referendum = {
  readonly index: number;
  track: number | null;
  submitted: Moment | null;
  /** The call that submitted it. */
  submission: ExecutedCall | null;
  proposal: Json | undefined;
  outcome: 'Ongoing' | 'Approved' | 'Rejected' | 'TimedOut' | 'Cancelled' | 'Killed';
  end: Moment | null;
  tally: Tally | null;
  deciding: Moment | null;
  confirming: Moment | null;
  deposit: bigint | null;
  last: Moment;
};

const OUTCOMES: Readonly<Record<string, Referendum['outcome']>> = {
  Confirmed: 'Approved',
  Approved: 'Approved',
  Rejected: 'Rejected',
  TimedOut: 'TimedOut',
  Cancelled: 'Cancelled',
  Killed: 'Killed',
};
const OTHERS = [
  ...['Submitted', 'DecisionDepositPlaced', 'DecisionStarted', 'ConfirmStarted', 'ConfirmAborted'],
  ...['SubmissionDepositRefunded', 'MetadataSet'],
];

/** What an event of the referenda pallet says of its referendum; null for all other events. */
export function referendumOf(event: PlacedEvent): number | null {
  const isOne = isNamed(event, 'referenda', ...OTHERS, ...Object.keys(OUTCOMES));
  return isOne ? parseIndex(event.data[0]) : null;
}

/** Whether this event ends its referendum, unless it had ended before. */
export function isEnding(event: PlacedEvent): boolean {
  return isNamed(event, 'referenda', ...Object.keys(OUTCOMES));
}

/** Every referendum of a government as all its events leave it. */
export function referendaOf(government: Government): readonly Referendum[] {
  const referenda = new Map<number, Referendum>();
  for (const happening of government.story) {
    if (happening.kind !== 'event') continue;
    const index = referendumOf(happening.event);
    if (index === null) continue;
    const referendum = referenda.get(index) ?? unknownReferendum(index, happening.at);
    referenda.set(index, referendum);
    tell(referendum, happening);
  }
  return [...referenda.values()];
}

function unknownReferendum(index: number, at: Moment): Referendum {
  return {
    index,
    track: null,
    submitted: null,
    submission: null,
    proposal: undefined,
    outcome: 'Ongoing',
    end: null,
    tally: null,
    deciding: null,
    confirming: null,
    deposit: null,
    last: at,
  };
}

function tell(referendum: Referendum, happening: Happening & { kind: 'event' }): void {
  const { event, at } = happening;
  const { method, data } = event;
  // What was confirmed is approved already.
  if (method === 'Approved' && referendum.end !== null) return;
  referendum.last = at;
  referendum.tally = parseTally(data.at(-1)) ?? referendum.tally;
  const outcome = OUTCOMES[method];
  if (outcome && referendum.end === null) {
    referendum.outcome = outcome;
    referendum.end = at;
  }
  if (method === 'Submitted') {
    referendum.submitted = at;
    referendum.track = parseIndex(data[1]);
    referendum.proposal = data[2];
    referendum.submission = submissionOf(happening);
  }
  if (method === 'DecisionStarted') {
    if (referendum.submitted === null) {
      referendum.track = parseIndex(data[1]);
      referendum.proposal = data[2];
    }
    referendum.deciding = at;
  }
  if (method === 'ConfirmStarted') referendum.confirming = at;
  if (method === 'ConfirmAborted') referendum.confirming = null;
  if (method === 'DecisionDepositPlaced') referendum.deposit = parseAmount(data[2]);
}

/** The submissions of an extrinsic are told in the order of its calls. */
function submissionOf({ event, extrinsic }: Happening & { kind: 'event' }): ExecutedCall | null {
  if (extrinsic === null) return null;
  const told = extrinsic.everyEvent.filter((one) => isNamed(one, 'referenda', 'Submitted'));
  const calls = extrinsic.executed.filter((call) => isNamed(call, 'referenda', 'submit'));
  return calls[told.findIndex(({ index }) => index === event.index)] ?? null;
}

export function parseTally(value: Json | undefined): Tally | null {
  if (!isObject(value)) return null;
  const [ayes, nays, support] = [value.ayes, value.nays, value.support].map(parseAmount);
  return ayes == null || nays == null || support == null ? null : { ayes, nays, support };
}
