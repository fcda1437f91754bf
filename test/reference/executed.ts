import { type Call, type Event, innerCalls, interruptedAt, isNamed, isOk } from './calls.ts';

/**
 * The calls of an extrinsic that really ran, in the order of the tree.
 *
 * Nested calls carry no events of their own, so the events of the whole extrinsic are read backwards: the
 * completion event of a wrapper comes after everything inside it. Every wrapper takes its own last
 * completion event before the end pointer, moves the pointer onto it and only then looks inside.
 */
export function executedCalls(topLevel: Call, events: readonly Event[]): readonly Call[] {
  return new BackwardWalk(events).visit(topLevel);
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
  visit(call: Call): readonly Call[] {
    return [call, ...this.visitInside(call)];
  }

  visitInside(call: Call): readonly Call[] {
    switch (`${call.pallet}.${call.method}`) {
      case 'utility.batch':
        return this.visitBatch(call, ['BatchCompleted', 'BatchInterrupted']);
      case 'utility.batchAll':
        return this.visitBatch(call, ['BatchCompleted']);
      case 'utility.forceBatch':
        return this.visitForceBatch(call);
      case 'proxy.proxy':
      case 'proxy.proxyAnnounced':
        return this.visitIfOk(call, 'proxy', ['ProxyExecuted']);
      case 'multisig.asMulti':
        return this.visitAsMulti(call);
      case 'sudo.sudo':
      case 'sudo.sudoUncheckedWeight':
        return this.visitIfOk(call, 'sudo', ['Sudid']);
      case 'sudo.sudoAs':
        return this.visitIfOk(call, 'sudo', ['SudoAsDone']);
      case 'utility.dispatchAs':
        return this.visitIfOk(call, 'utility', ['DispatchedAs']);
      // These report nothing: when they run, the call inside runs.
      case 'multisig.asMultiThreshold1':
      case 'utility.asDerivative':
      case 'utility.withWeight':
      case 'recovery.asRecovered':
        return this.visitAll(innerCalls(call), () => true);
      default:
        return [];
    }
  }

  visitBatch(call: Call, completions: readonly string[]): readonly Call[] {
    const completion = this.takeLast('utility', completions);
    if (!completion) return [];
    const items = innerCalls(call);
    const ran = completion.method === 'BatchInterrupted' ? items.slice(0, interruptedAt(completion)) : items;
    return this.visitAll(
      ran,
      () => !this.reportsItems || this.takeLast('utility', ['ItemCompleted']) !== null,
    );
  }

  visitForceBatch(call: Call): readonly Call[] {
    if (!this.takeLast('utility', ['BatchCompleted', 'BatchCompletedWithErrors'])) return [];
    return this.visitAll(
      innerCalls(call),
      () => this.takeLast('utility', ['ItemCompleted', 'ItemFailed'])?.method === 'ItemCompleted',
    );
  }

  visitAsMulti(call: Call): readonly Call[] {
    const completion = this.takeLast('multisig', ['MultisigExecuted', 'NewMultisig', 'MultisigApproval']);
    const ran = completion?.method === 'MultisigExecuted' && isOk(completion.data.at(-1));
    return ran ? this.visitAll(innerCalls(call), () => true) : [];
  }

  visitIfOk(call: Call, pallet: string, completions: readonly string[]): readonly Call[] {
    const completion = this.takeLast(pallet, completions);
    return completion && isOk(completion.data[0]) ? this.visitAll(innerCalls(call), () => true) : [];
  }

  /** Visits calls from last to first, as their events are met, and returns them first to last. */
  visitAll(calls: readonly Call[], hasRun: () => boolean): readonly Call[] {
    const visited: (readonly Call[])[] = [];
    for (const call of calls.toReversed()) if (hasRun()) visited.unshift(this.visit(call));
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
