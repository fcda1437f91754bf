import { keyOf } from '../chains/address.ts';
import { derivativeAccount, multisigAccount } from './derived-accounts.ts';
import { type EventsBackwards, indexOf, isOk } from './events.ts';
import { type CallName, recordOf } from './names.ts';

// Which calls inside a wrapper ran, and for whom. Every rule first takes the wrapper's own completion
// from the events; without one nothing inside ran.

/** A nested call that ran: where it stands in the wrapper, and its actor (null: root or none). */
type Ran = { index: number; call: unknown; actor: string | null };

type Args = Record<string, unknown>;
type Rule = (args: Args, actor: string | null, events: EventsBackwards) => Iterable<Ran>;

/** Calls directly inside a wrapper, executed or not. */
export function nestedCalls(args: Args): unknown[] {
  const inner = args.calls ?? args.call ?? args.proposal;
  if (Array.isArray(inner)) return inner;
  return recordOf(inner) === null ? [] : [inner];
}

/** The executed calls of a wrapper, last to first, as the events must be read. */
export function ranInside(name: CallName, args: Args, actor: string | null, events: EventsBackwards) {
  return RULES.get(`${name.pallet}.${name.call}`)?.(args, actor, events) ?? [];
}

function* only(args: Args, actor: string | null): Iterable<Ran> {
  const [call] = nestedCalls(args);
  if (call !== undefined) yield { index: 0, call, actor };
}

function* batch(args: Args, actor: string | null, events: EventsBackwards): Iterable<Ran> {
  const end = events.takeLast('utility.BatchCompleted', 'utility.BatchInterrupted');
  if (end === undefined) return;
  const interruptedAt = end.name === 'utility.BatchInterrupted' ? (indexOf(end.data[0]) ?? 0) : Infinity;
  yield* items(args, interruptedAt, actor, events);
}

function* batchAll(args: Args, actor: string | null, events: EventsBackwards): Iterable<Ran> {
  if (events.takeLast('utility.BatchCompleted')) yield* items(args, Infinity, actor, events);
}

/** The first `count` calls ran; newer runtimes mark the end of each, older ones only that of the batch. */
function* items(args: Args, count: number, actor: string | null, events: EventsBackwards): Iterable<Ran> {
  const calls = nestedCalls(args);
  const areMarked = events.has('utility.ItemCompleted');
  for (let index = Math.min(count, calls.length) - 1; index >= 0; index -= 1) {
    if (areMarked) events.takeLast('utility.ItemCompleted');
    yield { index, call: calls[index], actor };
  }
}

function* forceBatch(args: Args, actor: string | null, events: EventsBackwards): Iterable<Ran> {
  if (!events.takeLast('utility.BatchCompleted', 'utility.BatchCompletedWithErrors')) return;
  const calls = nestedCalls(args);
  for (let index = calls.length - 1; index >= 0; index -= 1) {
    const end = events.takeLast('utility.ItemCompleted', 'utility.ItemFailed');
    if (end?.name === 'utility.ItemCompleted') yield { index, call: calls[index], actor };
  }
}

/** Runs its call when `event` reports success. */
const whenOk =
  (event: string, actorOf: (args: Args) => string | null): Rule =>
  (args, _actor, events) =>
    isOk(events.takeLast(event)?.data[0]) ? only(args, actorOf(args)) : [];

/** Only the last approval runs the call; the event names the multisig's account. */
const asMulti =
  (pallet: string): Rule =>
  (args, _actor, events) => {
    const event = (name: string) => `${pallet}.${name}`;
    const end = events.takeLast(event('MultisigExecuted'), event('NewMultisig'), event('MultisigApproval'));
    if (end?.name !== event('MultisigExecuted') || !isOk(end.data.at(-1))) return [];
    return only(args, keyOf(end.data[2]));
  };

const asMultiThreshold1: Rule = (args, actor) => {
  const listed = args.other_signatories ?? args.otherSignatories;
  const others = Array.isArray(listed) ? listed.map(keyOf) : [null];
  const signatories = [actor, ...others];
  const isKnown = signatories.every((key) => key !== null);
  return only(args, isKnown ? multisigAccount(signatories, 1) : null);
};

const asDerivative: Rule = (args, actor) => {
  const index = indexOf(args.index);
  const isKnown = actor !== null && index !== null && index <= 0xffff;
  return only(args, isKnown ? derivativeAccount(actor, index) : null);
};

const noActor = () => null;
const proxied = whenOk('proxy.ProxyExecuted', (args) => keyOf(args.real));
const asRoot = whenOk('sudo.Sudid', noActor);

/** The account of a signed origin, `{system: {signed: …}}`; null for root and every other. */
function signedOrigin(args: Args): string | null {
  const origin = recordOf(args.as_origin ?? args.asOrigin) ?? {};
  const system = recordOf(origin.system ?? origin.System) ?? {};
  return keyOf(system.signed ?? system.Signed);
}

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['utility.batch', batch],
  ['utility.batchAll', batchAll],
  ['utility.forceBatch', forceBatch],
  ['utility.withWeight', only],
  ['utility.asDerivative', asDerivative],
  ['utility.dispatchAs', whenOk('utility.DispatchedAs', signedOrigin)],
  // Before they had pallets and names of their own.
  ['utility.asSub', asDerivative],
  ['utility.asMulti', asMulti('utility')],
  ['proxy.proxy', proxied],
  ['proxy.proxyAnnounced', proxied],
  ['multisig.asMulti', asMulti('multisig')],
  ['multisig.asMultiThreshold1', asMultiThreshold1],
  ['sudo.sudo', asRoot],
  ['sudo.sudoUncheckedWeight', asRoot],
  ['sudo.sudoAs', whenOk('sudo.SudoAsDone', (args) => keyOf(args.who))],
  ['recovery.asRecovered', (args) => only(args, keyOf(args.account))],
]);
