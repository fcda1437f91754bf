import { keyOf } from '../chains/address.ts';
import { derivativeAccount, multisigAccount } from './derived-accounts.ts';
import { indexOf, isOk, type ReverseEventReader } from './events.ts';
import { asRecord, type CallName, callName } from './names.ts';

// Finds the executed calls inside a wrapper, and their actors. A rule first takes the completion event of the wrapper; if
// it is missing, no call inside ran. A wrapper that emits no completion event fails if its call fails.

/** The actor of a call that runs without an account, such as a call of root. */
export const NO_ACCOUNT = 'none';

/** A nested call that ran: its index in the wrapper, and its actor (null if unknown). */
type Ran = { index: number; call: unknown; actor: string | null };

type Args = Record<string, unknown>;
type Rule = (args: Args, actor: string | null, events: ReverseEventReader) => Iterable<Ran>;

/** Calls directly inside a wrapper, executed or not. The name of the wrapper decides which arguments contain them. */
export function nestedCalls({ pallet, call }: CallName, args: Args): unknown[] {
  const name = `${pallet}.${call}`;
  if (name === 'utility.ifElse') return [args.main, args.fallback];
  if (name === 'metaTx.dispatch') return [metaTxOf(args).call];
  return callsIn(args);
}

function callsIn({ calls, call, proposal }: Args): unknown[] {
  const inner = calls ?? call ?? proposal;
  if (Array.isArray(inner)) return inner;
  return asRecord(inner) === null ? [] : [inner];
}

const metaTxOf = (args: Args): Args => asRecord(args.meta_tx ?? args.metaTx) ?? {};

/** The executed calls of a wrapper, last to first, since events are read backwards. */
export function executedCalls(name: CallName, args: Args, actor: string | null, events: ReverseEventReader) {
  return ruleOf(name)?.(args, actor, events) ?? [];
}

/** The number of calls in the arguments of a call without a rule. */
export function countUnreadCalls(name: CallName, args: Args): number {
  return ruleOf(name) ? 0 : Object.values(args).flatMap(partsOf).filter(isCall).length;
}

const partsOf = (value: unknown): unknown[] =>
  isCall(value) || !(value instanceof Object) ? [value] : Object.values(value);

/** Whether a value has the shape of a call in Sidecar's JSON. */
function isCall(value: unknown): boolean {
  const { method, args } = asRecord(value) ?? {};
  return args !== undefined && callName(method) !== null;
}

/** A remote proxy pallet is named after the chain whose proxies it checks. */
function ruleOf({ pallet, call }: CallName): Rule | undefined {
  const family = pallet.startsWith('remoteProxy') ? `remoteProxy*.${call}` : `${pallet}.*`;
  return RULES.get(`${pallet}.${call}`) ?? RULES.get(family);
}

function* only(args: Args, actor: string | null): Iterable<Ran> {
  const [call] = callsIn(args);
  if (call !== undefined) yield { index: 0, call, actor };
}

function* batch(args: Args, actor: string | null, events: ReverseEventReader): Iterable<Ran> {
  const end = events.takeLast('utility.BatchCompleted', 'utility.BatchInterrupted');
  if (end === undefined) return;
  const interruptedAt = end.name === 'utility.BatchInterrupted' ? (indexOf(end.data[0]) ?? 0) : Infinity;
  yield* items(args, interruptedAt, actor, events);
}

function* batchAll(args: Args, actor: string | null, events: ReverseEventReader): Iterable<Ran> {
  if (events.takeLast('utility.BatchCompleted')) yield* items(args, Infinity, actor, events);
}

/** The first `count` calls ran. Newer runtimes emit an event per call, older ones only an event for the batch. */
function* items(args: Args, count: number, actor: string | null, events: ReverseEventReader): Iterable<Ran> {
  const calls = callsIn(args);
  const areMarked = events.has('utility.ItemCompleted');
  for (let index = Math.min(count, calls.length) - 1; index >= 0; index -= 1) {
    if (areMarked) events.takeLast('utility.ItemCompleted');
    yield { index, call: calls[index], actor };
  }
}

function* forceBatch(args: Args, actor: string | null, events: ReverseEventReader): Iterable<Ran> {
  if (!events.takeLast('utility.BatchCompleted', 'utility.BatchCompletedWithErrors')) return;
  const calls = callsIn(args);
  for (let index = calls.length - 1; index >= 0; index -= 1) {
    const end = events.takeLast('utility.ItemCompleted', 'utility.ItemFailed');
    if (end?.name === 'utility.ItemCompleted') yield { index, call: calls[index], actor };
  }
}

/** If `main` fails, its changes are rolled back, including its events. */
function* ifElse(args: Args, actor: string | null, events: ReverseEventReader): Iterable<Ran> {
  const end = events.takeLast('utility.IfElseMainSuccess', 'utility.IfElseFallbackCalled');
  if (end === undefined) return;
  const { main, fallback } = args;
  yield end.name === 'utility.IfElseMainSuccess'
    ? { index: 0, call: main, actor }
    : { index: 1, call: fallback, actor };
}

/** Only some runtimes emit an event if the call succeeds. */
const dispatchAsFallible: Rule = (args, _actor, events) => {
  events.takeLastOk('utility.DispatchedAs');
  return only(args, signedOrigin(args));
};

/** The first runtimes emit no result. */
const controlInheritedAccount: Rule = (args, _actor, events) => {
  const name = 'recovery.RecoveredAccountControlled';
  const hasRun = !events.has(name) || isOk(events.takeLast(name)?.data[3]);
  return hasRun ? only(args, keyOf(args.recovered)) : [];
};

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

const isAccount = (actor: string | null): actor is string => actor !== null && actor !== NO_ACCOUNT;

const asMultiThreshold1: Rule = (args, actor) => {
  const listed = args.other_signatories ?? args.otherSignatories;
  const others = Array.isArray(listed) ? listed.map(keyOf) : [null];
  const signatories = [actor, ...others];
  return only(args, signatories.every(isAccount) ? multisigAccount(signatories, 1) : null);
};

const asDerivative: Rule = (args, actor) => {
  const index = indexOf(args.index);
  return only(
    args,
    isAccount(actor) && index !== null && index <= 0xffff ? derivativeAccount(actor, index) : null,
  );
};

/** For wrappers whose calls run later or never. */
const nothing: Rule = () => [];
const proxied = whenOk('proxy.ProxyExecuted', (args) => keyOf(args.real));
const asRoot = whenOk('sudo.Sudid', () => NO_ACCOUNT);

/** The account of a signed origin, `{system: {signed: …}}`; all other origins, such as root, have none. */
function signedOrigin(args: Args): string | null {
  const origin = asRecord(args.as_origin ?? args.asOrigin) ?? {};
  const system = asRecord(origin.system ?? origin.System) ?? {};
  const signed = system.signed ?? system.Signed;
  return signed === undefined ? NO_ACCOUNT : keyOf(signed);
}

const dispatchMetaTx: Rule = (args, _actor, events) => {
  const { call, extension } = metaTxOf(args);
  return isOk(events.takeLast('metaTx.Dispatched')?.data[0]) ? only({ call }, metaTxSigner(extension)) : [];
};

/** The account that signed a meta transaction, if its extensions contain it: `{signed: {account: …}}`. */
function metaTxSigner(extension: unknown): string | null {
  const parts = extension instanceof Object ? [extension, ...Object.values(extension)] : [];
  const signatures = parts.map((part) => field(part, 'signed'));
  const accounts = signatures.map((signature) => field(signature, 'account'));
  return keyOf(accounts.find((account) => account !== undefined));
}

/** A field of an object, by its name in upper or lower case. */
function field(value: unknown, name: string): unknown {
  return Object.entries(asRecord(value) ?? {}).find(([key]) => key.toLowerCase() === name)?.[1];
}

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['utility.batch', batch],
  ['utility.batchAll', batchAll],
  ['utility.forceBatch', forceBatch],
  ['utility.withWeight', only],
  ['utility.asDerivative', asDerivative],
  ['utility.dispatchAs', whenOk('utility.DispatchedAs', signedOrigin)],
  ['utility.dispatchAsFallible', dispatchAsFallible],
  ['utility.ifElse', ifElse],
  // Former names and pallets.
  ['utility.asSub', asDerivative],
  ['utility.asMulti', asMulti('utility')],
  ['proxy.proxy', proxied],
  ['proxy.proxyAnnounced', proxied],
  ['remoteProxy*.remoteProxy', proxied],
  ['remoteProxy*.remoteProxyWithRegisteredProof', proxied],
  ['remoteProxy*.registerRemoteProxyProof', nothing],
  ['multisig.asMulti', asMulti('multisig')],
  ['multisig.asMultiThreshold1', asMultiThreshold1],
  ['multisig.approveAsMulti', nothing],
  ['scheduler.*', nothing],
  ['sudo.sudo', asRoot],
  ['sudo.sudoUncheckedWeight', asRoot],
  ['sudo.sudoAs', whenOk('sudo.SudoAsDone', (args) => keyOf(args.who))],
  ['recovery.asRecovered', (args) => only(args, keyOf(args.account))],
  ['recovery.controlInheritedAccount', controlInheritedAccount],
  ['metaTx.dispatch', dispatchMetaTx],
  ['transactionPayment.withFeeCurrency', only],
  ['transactionPayment.withFeePath', only],
  ['transactionPayment.withFeePaidBy', only],
  ['transactionPayment.withFeeAggregatedPath', only],
]);
