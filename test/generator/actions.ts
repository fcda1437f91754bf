import type { Random } from '../../ingest/demo/random.ts';
import { derivativeAccount, multisigAccount } from '../reference/derived.ts';
import type { Chain } from '../reference/registry.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../reference/shaped.ts';
import { type Key, multiAddress, PEOPLE, printed } from './accounts.ts';

/** A call that somebody wants to make. `perform` does what it says to the model and returns its events. */
export type Action = {
  readonly call: string;
  readonly args: object;
  readonly perform: () => readonly ShapedEvent[];
};

/** Makes the action for whoever turns out to act; null stands for the root. */
export type Maker = (actor: Key) => Action;

type Built = { readonly call: string; readonly args: object; readonly run: () => readonly ShapedEvent[] };

/**
 * Wraps calls into calls as users do: batches of all kinds, proxies, multisigs, derived accounts. What runs
 * tells its events in the order of execution; what does not run tells nothing and leaves the model alone.
 */
export class Wrapper {
  readonly #random: Random;
  readonly #chain: Chain;
  /** Old runtimes do not report the items of a batch, and have no forced ones. */
  readonly #reportsItems: boolean;

  constructor(random: Random, chain: Chain) {
    this.#random = random;
    this.#chain = chain;
    this.#reportsItems = random.chance(0.7);
  }

  /** An extrinsic that makes these calls, plain where there is but one, or wrapped to some depth. */
  wrap(signer: Key, makers: readonly Maker[], depth = 2): { call: string; args: object; run: Built['run'] } {
    const [only] = makers;
    if (depth === 0 || (makers.length === 1 && this.#random.chance(0.55))) {
      return makers.length === 1 && only ? this.#plain(only(signer)) : this.#batch(signer, makers, 0);
    }
    return makers.length > 1 && this.#random.chance(0.7)
      ? this.#batch(signer, makers, depth - 1)
      : this.#around(signer, makers, depth - 1);
  }

  #plain({ call, args, perform }: Action): Built {
    return { call, args, run: perform };
  }

  #batch(signer: Key, makers: readonly Maker[], depth: number): Built {
    const items = makers.map((maker) => this.wrap(signer, [maker], depth));
    const args = { calls: items.map(({ call, args }) => shapeCall(call, args)) };
    const completed: readonly ShapedEvent[] = this.#reportsItems ? [['utility.ItemCompleted']] : [];
    const all = (ran: readonly Built[]) => ran.flatMap(({ run }) => [...run(), ...completed]);
    const kind = this.#random.pick(
      this.#reportsItems ? ['batch', 'batchAll', 'forceBatch'] : ['batch', 'batchAll'],
    );
    if (kind === 'batchAll') {
      return { call: 'utility.batchAll', args, run: () => [...all(items), ['utility.BatchCompleted']] };
    }
    if (kind === 'forceBatch') return this.#forced(items, args);
    const stopsAt = this.#random.chance(0.3) ? this.#random.whole(0, items.length - 1) : null;
    const run = (): readonly ShapedEvent[] =>
      stopsAt === null
        ? [...all(items), ['utility.BatchCompleted']]
        : [...all(items.slice(0, stopsAt)), ['utility.BatchInterrupted', String(stopsAt), BAD_ORIGIN]];
    return { call: 'utility.batch', args, run };
  }

  #forced(items: readonly Built[], args: object): Built {
    const fails = items.map(() => this.#random.chance(0.3));
    const end = fails.includes(true) ? 'utility.BatchCompletedWithErrors' : 'utility.BatchCompleted';
    const run = () => [
      ...items.flatMap((item, index): readonly ShapedEvent[] =>
        fails[index] ? [['utility.ItemFailed', BAD_ORIGIN]] : [...item.run(), ['utility.ItemCompleted']],
      ),
      [end] as ShapedEvent,
    ];
    return { call: 'utility.forceBatch', args, run };
  }

  /** One call around what may itself be wrapped, on behalf of another account. */
  #around(signer: Key, makers: readonly Maker[], depth: number): Built {
    const random = this.#random;
    const other = random.pick(PEOPLE.filter((key) => key !== signer));
    const address = (key: Key) => multiAddress(random, key, this.#chain);
    const inner = (actor: Key) => this.wrap(actor, makers, depth);
    const shaped = ({ call, args }: Built) => shapeCall(call, args);
    switch (random.pick(WRAPPERS)) {
      case 'proxy': {
        const what = inner(other);
        const isOk = random.chance(0.8);
        const result = isOk ? random.pick([{ ok: null }, { ok: [] }, 'Ok']) : { err: BAD_ORIGIN };
        return {
          call: 'proxy.proxy',
          args: { real: address(other), force_proxy_type: null, call: shaped(what) },
          run: () => [...(isOk ? what.run() : []), ['proxy.ProxyExecuted', result]],
        };
      }
      case 'asMulti': {
        const multisig = multisigAccount([signer, other], 2);
        const what = inner(multisig);
        const isLast = random.chance(0.7);
        const at = [printed(random, signer, this.#chain), { height: '1', index: '1' }];
        const tail = [printed(random, multisig, this.#chain), '0x00'];
        return {
          call: 'multisig.asMulti',
          args: {
            threshold: '2',
            other_signatories: [printed(random, other, this.#chain)],
            call: shaped(what),
          },
          run: () =>
            isLast
              ? [...what.run(), ['multisig.MultisigExecuted', ...at, ...tail, { ok: null }]]
              : [['multisig.NewMultisig', at[0], ...tail]],
        };
      }
      case 'asMultiThreshold1': {
        const what = inner(multisigAccount([signer, other], 1));
        return {
          call: 'multisig.asMultiThreshold1',
          args: { other_signatories: [printed(random, other, this.#chain)], call: shaped(what) },
          run: what.run,
        };
      }
      case 'asDerivative': {
        const what = inner(derivativeAccount(signer, 7));
        return { call: 'utility.asDerivative', args: { index: '7', call: shaped(what) }, run: what.run };
      }
      case 'sudoAs': {
        const what = inner(other);
        const result = random.pick([true, { ok: null }, { err: BAD_ORIGIN }]);
        const isOk = result === true || 'ok' in (result as object);
        return {
          call: 'sudo.sudoAs',
          args: { who: address(other), call: shaped(what) },
          run: () => [...(isOk ? what.run() : []), ['sudo.SudoAsDone', result]],
        };
      }
      case 'dispatchAs': {
        const what = inner(other);
        const isOk = random.chance(0.8);
        const as_origin = { system: { signed: printed(random, other, this.#chain) } };
        return {
          call: 'utility.dispatchAs',
          args: { as_origin, call: shaped(what) },
          run: () => [
            ...(isOk ? what.run() : []),
            ['utility.DispatchedAs', isOk ? { ok: [] } : { err: BAD_ORIGIN }],
          ],
        };
      }
      case 'asRecovered': {
        const what = inner(other);
        return {
          call: 'recovery.asRecovered',
          args: { account: address(other), call: shaped(what) },
          run: what.run,
        };
      }
      case 'withWeight': {
        const what = inner(signer);
        return { call: 'utility.withWeight', args: { call: shaped(what), weight: {} }, run: what.run };
      }
      default: {
        const what = inner(signer);
        return {
          call: 'scheduler.schedule',
          args: { when: '1', maybe_periodic: null, priority: '0', call: shaped(what) },
          run: () => [['scheduler.Scheduled', '1', '0']],
        };
      }
    }
  }
}

const WRAPPERS = [
  'proxy',
  'asMulti',
  'asMultiThreshold1',
  'asDerivative',
  'sudoAs',
  'dispatchAs',
  'asRecovered',
  'withWeight',
  'schedule',
] as const;

const BAD_ORIGIN = { badOrigin: null };

/** A signed extrinsic with its fee; one in ten fails and leaves nothing but its fee. */
export function signed(
  random: Random,
  chain: Chain,
  signer: Key,
  makers: readonly Maker[],
  failing = 0.1,
): ShapedExtrinsic {
  const { call, args, run } = new Wrapper(random, chain).wrap(signer, makers);
  const success = !random.chance(failing);
  const fee = BigInt(random.whole(1, 2_000_000_000));
  const tip = random.chance(0.2) ? random.whole(1, 1000) : 0;
  const address = printed(random, signer, chain);
  const weight = { refTime: String(random.whole(1, 10 ** 9)), proofSize: String(random.whole(0, 10 ** 5)) };
  const info = { weight: random.chance(0.1) ? '12345' : weight, class: 'Normal', paysFee: 'Yes' };
  return {
    call,
    args,
    signer: multiAddress(random, signer, chain),
    hash: hashOf(random),
    tip: String(tip),
    success: !success && random.chance(0.2) ? 'events could not be read' : success,
    events: [
      ['balances.Withdraw', address, amountOf(random, fee)],
      ...(success ? run() : []),
      ['transactionPayment.TransactionFeePaid', address, amountOf(random, fee), String(tip)],
      success ? ['system.ExtrinsicSuccess', info] : ['system.ExtrinsicFailed', BAD_ORIGIN, info],
    ],
  };
}

/** An amount in one of the spellings of sources. */
export function amountOf(random: Random, planck: bigint): string | number {
  if (random.chance(0.05)) return `0x${planck.toString(16).padStart(32, '0')}`;
  return random.chance(0.05) && planck < 2n ** 53n ? Number(planck) : planck.toString();
}

export function hashOf(random: Random): string {
  const part = () => random.whole(0, 0xffffffff).toString(16).padStart(8, '0');
  return `0x${Array.from({ length: 8 }, part).join('')}`;
}
