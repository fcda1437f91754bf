import { type AccountKey, parseAccount, parseSigner } from './accounts.ts';
import { type Call, type Event, innerCalls, interruptedAt, isNamed, isOk } from './calls.ts';
import { derivativeAccount, multisigAccount } from './derived.ts';
import { isArray, isObject } from './json.ts';
import { parseIndex } from './numbers.ts';

/** A call that ran and the account that it ran for; null for the root and for what nobody signed. */
export type ExecutedCall = Call & { readonly actor: AccountKey | null };

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
  signer: AccountKey | null = null,
): readonly ExecutedCall[] {
  return new BackwardWalk(events).visit(topLevel, signer);
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
  visit(call: Call, actor: AccountKey | null): readonly ExecutedCall[] {
    return [{ ...call, actor }, ...this.visitInside(call, actor)];
  }

  visitInside(call: Call, actor: AccountKey | null): readonly ExecutedCall[] {
    const { args } = call;
    switch (`${call.pallet}.${call.method}`) {
      case 'utility.batch':
        return this.visitBatch(call, actor, ['BatchCompleted', 'BatchInterrupted']);
      case 'utility.batchAll':
        return this.visitBatch(call, actor, ['BatchCompleted']);
      case 'utility.forceBatch':
        return this.visitForceBatch(call, actor);
      case 'proxy.proxy':
      case 'proxy.proxyAnnounced':
        return this.visitIfOk(call, parseSigner(args.real), 'proxy', 'ProxyExecuted');
      case 'multisig.asMulti':
        return this.visitAsMulti(call);
      case 'sudo.sudo':
      case 'sudo.sudoUncheckedWeight':
        return this.visitIfOk(call, null, 'sudo', 'Sudid');
      case 'sudo.sudoAs':
        return this.visitIfOk(call, parseSigner(args.who), 'sudo', 'SudoAsDone');
      case 'utility.dispatchAs':
        return this.visitIfOk(call, signedOrigin(call), 'utility', 'DispatchedAs');
      // These report nothing: when they run, the call inside runs.
      case 'multisig.asMultiThreshold1':
        return this.visitAll(innerCalls(call), soleMultisig(call, actor));
      case 'utility.asDerivative':
        return this.visitAll(innerCalls(call), derivative(call, actor));
      case 'utility.withWeight':
        return this.visitAll(innerCalls(call), actor);
      case 'recovery.asRecovered':
        return this.visitAll(innerCalls(call), parseSigner(args.account));
      default:
        return [];
    }
  }

  visitBatch(call: Call, actor: AccountKey | null, completions: readonly string[]): readonly ExecutedCall[] {
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

  visitForceBatch(call: Call, actor: AccountKey | null): readonly ExecutedCall[] {
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
    return ran ? this.visitAll(innerCalls(call), parseAccount(completion.data[2])) : [];
  }

  visitIfOk(
    call: Call,
    actor: AccountKey | null,
    pallet: string,
    completion: string,
  ): readonly ExecutedCall[] {
    const taken = this.takeLast(pallet, [completion]);
    return taken && isOk(taken.data[0]) ? this.visitAll(innerCalls(call), actor) : [];
  }

  /** Visits calls from last to first, as their events are met, and returns them first to last. */
  visitAll(
    calls: readonly Call[],
    actor: AccountKey | null,
    hasRun: () => boolean = () => true,
  ): readonly ExecutedCall[] {
    const visited: (readonly ExecutedCall[])[] = [];
    for (const call of calls.toReversed()) if (hasRun()) visited.unshift(this.visit(call, actor));
    return visited.flat();
  }

  /** The last of these events before the end pointer, which moves onto it. */
  takeLast(pallet: string, names: readonly string[]): Event | null {
    const position = this.events.findLastIndex(
      (event, index) => index < this.end && isNamed(event, pallet, ...names),
    );
    if (position < 0) return null;
    this.end = position;
    return this.events[position] ?? null;
  }
}

/** `{system: {signed: account}}`; any other origin is no account's. */
function signedOrigin(call: Call): AccountKey | null {
  const origin = call.args.as_origin;
  const system = isObject(origin) ? (origin.system ?? origin.System) : undefined;
  return isObject(system) ? parseAccount(system.signed ?? system.Signed) : null;
}

function soleMultisig(call: Call, actor: AccountKey | null): AccountKey | null {
  const others = call.args.other_signatories;
  const keys = isArray(others) ? others.map((other) => parseSigner(other)) : [];
  const known = keys.filter((key) => key !== null);
  return actor !== null && known.length === keys.length ? multisigAccount([actor, ...known], 1) : null;
}

function derivative(call: Call, actor: AccountKey | null): AccountKey | null {
  const index = parseIndex(call.args.index);
  return actor !== null && index !== null ? derivativeAccount(actor, index) : null;
}
