import { type AccountKey, parseAccount, parseSigner } from './accounts.ts';
import {
  type Call,
  type Event,
  innerCalls,
  interruptedAt,
  isNamed,
  isOk,
  isRemoteProxy,
  parseCall,
} from './calls.ts';
import { derivativeAccount, multisigAccount } from './derived.ts';
import { isArray, isObject, type Json, valuesOf } from './json.ts';
import { parseIndex } from './numbers.ts';

/** Who a call runs for. */
export type Actor = {
  /** Null for the root, for what nobody signed, and for an unknown account. */
  readonly account: AccountKey | null;
  /** False where an account acts but the block does not say which one. */
  readonly isKnown: boolean;
};

/** A call that ran and the account that it ran for. */
export type ExecutedCall = Call & { readonly actor: AccountKey | null; readonly isActorKnown: boolean };

/** The account behind a transaction that nobody signed. */
export const UNKNOWN: Actor = { account: null, isKnown: false };
export const actorOf = (account: AccountKey | null): Actor => ({ account, isKnown: true });
const ROOT = actorOf(null);

/**
 * The calls of an extrinsic that really ran, in the order of the tree.
 *
 * Nested calls carry no events of their own, so the events of the whole extrinsic are read backwards: the
 * completion event of a wrapper comes after everything inside it. Every wrapper takes its own last
 * completion event before the end pointer, moves the pointer onto it and only then looks inside.
 */
export function executedCalls(
  topLevel: Call,
  events: readonly Event[],
  actor: Actor,
): readonly ExecutedCall[] {
  return new BackwardWalk(events).visit(topLevel, actor);
}

class BackwardWalk {
  readonly events: readonly Event[];
  /** Runtimes that report every item of a batch do so for all batches of the extrinsic. */
  readonly reportsItems: boolean;
  end: number;

  constructor(events: readonly Event[]) {
    this.events = events;
    this.reportsItems = events.some((event) => isNamed(event, 'utility', 'ItemCompleted'));
    this.end = events.length;
  }

  /** The call itself and what ran inside it. */
  visit(call: Call, actor: Actor): readonly ExecutedCall[] {
    const own = { ...call, actor: actor.account, isActorKnown: actor.isKnown };
    return [own, ...this.visitInside(call, actor)];
  }

  visitInside(call: Call, actor: Actor): readonly ExecutedCall[] {
    const { args } = call;
    if (isRemoteProxy(call)) {
      return this.visitIfOk(call, actorOf(parseSigner(args.real)), 'proxy', 'ProxyExecuted');
    }
    switch (`${call.pallet}.${call.method}`) {
      case 'utility.batch':
        return this.visitBatch(call, actor, ['BatchCompleted', 'BatchInterrupted']);
      case 'utility.batchAll':
        return this.visitBatch(call, actor, ['BatchCompleted']);
      case 'utility.forceBatch':
        return this.visitForceBatch(call, actor);
      case 'proxy.proxy':
      case 'proxy.proxyAnnounced':
        return this.visitIfOk(call, actorOf(parseSigner(args.real)), 'proxy', 'ProxyExecuted');
      case 'multisig.asMulti':
        return this.visitAsMulti(call);
      case 'sudo.sudo':
      case 'sudo.sudoUncheckedWeight':
        return this.visitIfOk(call, ROOT, 'sudo', 'Sudid');
      case 'sudo.sudoAs':
        return this.visitIfOk(call, actorOf(parseSigner(args.who)), 'sudo', 'SudoAsDone');
      case 'utility.dispatchAs':
        return this.visitIfOk(call, signedOrigin(call), 'utility', 'DispatchedAs');
      case 'utility.dispatchAsFallible':
        return this.visitDispatchAsFallible(call);
      case 'utility.ifElse':
        return this.visitIfElse(call, actor);
      case 'recovery.controlInheritedAccount':
        return this.visitInherited(call);
      case 'metaTx.dispatch':
        return this.visitIfOk(call, metaTxSigner(call), 'metaTx', 'Dispatched');
      // These report nothing: when they run, the call inside runs.
      case 'multisig.asMultiThreshold1':
        return this.visitAll(innerCalls(call), soleMultisig(call, actor));
      case 'utility.asDerivative':
        return this.visitAll(innerCalls(call), derivative(call, actor));
      case 'utility.withWeight':
      case 'transactionPayment.withFeeCurrency':
      case 'transactionPayment.withFeePath':
      case 'transactionPayment.withFeePaidBy':
      case 'transactionPayment.withFeeAggregatedPath':
        return this.visitAll(innerCalls(call), actor);
      case 'recovery.asRecovered':
        return this.visitAll(innerCalls(call), actorOf(parseSigner(args.account)));
      default:
        return [];
    }
  }

  visitBatch(call: Call, actor: Actor, completions: readonly string[]): readonly ExecutedCall[] {
    const completion = this.takeLast('utility', completions);
    if (!completion) return [];
    const items = innerCalls(call);
    const ran = completion.method === 'BatchInterrupted' ? items.slice(0, interruptedAt(completion)) : items;
    return this.visitAll(
      ran,
      actor,
      () => !this.reportsItems || this.takeLast('utility', ['ItemCompleted']) !== null,
    );
  }

  visitForceBatch(call: Call, actor: Actor): readonly ExecutedCall[] {
    if (!this.takeLast('utility', ['BatchCompleted', 'BatchCompletedWithErrors'])) return [];
    return this.visitAll(
      innerCalls(call),
      actor,
      () => this.takeLast('utility', ['ItemCompleted', 'ItemFailed'])?.method === 'ItemCompleted',
    );
  }

  visitAsMulti(call: Call): readonly ExecutedCall[] {
    const completion = this.takeLast('multisig', ['MultisigExecuted', 'NewMultisig', 'MultisigApproval']);
    const ran = completion?.method === 'MultisigExecuted' && isOk(completion.data.at(-1));
    return ran ? this.visitAll(innerCalls(call), actorOf(parseAccount(completion.data[2]))) : [];
  }

  /** One of two calls runs. What the first had done before it failed is rolled back with its events. */
  visitIfElse(call: Call, actor: Actor): readonly ExecutedCall[] {
    const completion = this.takeLast('utility', ['IfElseMainSuccess', 'IfElseFallbackCalled']);
    if (!completion) return [];
    const { main, fallback } = call.args;
    const ran = parseCall(completion.method === 'IfElseMainSuccess' ? main : fallback);
    return ran ? this.visitAll([ran], actor) : [];
  }

  /** It fails with the call inside, so that one ran if it ran itself; an error in the event is another's. */
  visitDispatchAsFallible(call: Call): readonly ExecutedCall[] {
    const position = this.lastPosition('utility', ['DispatchedAs']);
    if (isOk(this.events[position]?.data[0])) this.end = position;
    return this.visitAll(innerCalls(call), signedOrigin(call));
  }

  /** Runtimes that do not report it let it fail with the call inside. */
  visitInherited(call: Call): readonly ExecutedCall[] {
    const name = 'RecoveredAccountControlled';
    const isReported = this.events.some((event) => isNamed(event, 'recovery', name));
    const hasRun = !isReported || isOk(this.takeLast('recovery', [name])?.data[3]);
    return hasRun ? this.visitAll(innerCalls(call), actorOf(parseSigner(call.args.recovered))) : [];
  }

  visitIfOk(call: Call, actor: Actor, pallet: string, completion: string): readonly ExecutedCall[] {
    const taken = this.takeLast(pallet, [completion]);
    return taken && isOk(taken.data[0]) ? this.visitAll(innerCalls(call), actor) : [];
  }

  /** Visits calls from last to first, as their events are met, and returns them first to last. */
  visitAll(
    calls: readonly Call[],
    actor: Actor,
    hasRun: () => boolean = () => true,
  ): readonly ExecutedCall[] {
    const visited: (readonly ExecutedCall[])[] = [];
    for (const call of calls.toReversed()) if (hasRun()) visited.unshift(this.visit(call, actor));
    return visited.flat();
  }

  /** The last of these events before the end pointer, which moves onto it. */
  takeLast(pallet: string, names: readonly string[]): Event | null {
    const position = this.lastPosition(pallet, names);
    if (position < 0) return null;
    this.end = position;
    return this.events[position] ?? null;
  }

  lastPosition(pallet: string, names: readonly string[]): number {
    return this.events.findLastIndex((event, index) => index < this.end && isNamed(event, pallet, ...names));
  }
}

/** `{system: {signed: account}}`; any other origin is no account's. */
function signedOrigin(call: Call): Actor {
  const origin = call.args.as_origin;
  const system = isObject(origin) ? (origin.system ?? origin.System) : undefined;
  return actorOf(isObject(system) ? parseAccount(system.signed ?? system.Signed) : null);
}

/** The signer is printed in the extension, or in one of its parts. */
function metaTxSigner(call: Call): Actor {
  const metaTx = call.args.meta_tx;
  const extension = isObject(metaTx) ? metaTx.extension : undefined;
  for (const part of [extension, ...valuesOf(extension)]) {
    const signed = fieldOf(part, 'signed');
    const account = fieldOf(signed, 'account');
    if (account !== undefined) {
      const key = parseSigner(account);
      return key === null ? UNKNOWN : actorOf(key);
    }
  }
  return UNKNOWN;
}

/** A field by its name in any case. */
function fieldOf(value: Json | undefined, name: string): Json | undefined {
  const fields = isObject(value) ? Object.entries(value) : [];
  return fields.find(([field]) => field.toLowerCase() === name)?.[1];
}

function soleMultisig(call: Call, { account, isKnown }: Actor): Actor {
  if (!isKnown) return UNKNOWN;
  const others = call.args.other_signatories;
  const keys = isArray(others) ? others.map((other) => parseSigner(other)) : [];
  const known = keys.filter((key) => key !== null);
  const isWhole = account !== null && known.length === keys.length;
  return actorOf(isWhole ? multisigAccount([account, ...known], 1) : null);
}

function derivative(call: Call, { account, isKnown }: Actor): Actor {
  if (!isKnown) return UNKNOWN;
  const index = parseIndex(call.args.index);
  return actorOf(account !== null && index !== null ? derivativeAccount(account, index) : null);
}
