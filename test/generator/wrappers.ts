import type { Random } from '../../ingest/demo/random.ts';
import { derivativeAccount, multisigAccount } from '../reference/derived.ts';
import type { Chain } from '../reference/registry.ts';
import { type ShapedEvent, shapeCall } from '../reference/shaped.ts';
import { type Key, multiAddress, PEOPLE, printed } from './accounts.ts';
import { type Action, BAD_ORIGIN, type Maker } from './actions.ts';

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
  /** Nor whether a call for an inherited account went well: it fails with that call. */
  readonly #reportsRecovery: boolean;
  /** Every account that acts is printed, and what runs is told. */
  readonly #isWhole: boolean;

  constructor(random: Random, chain: Chain, isWhole: boolean) {
    this.#random = random;
    this.#chain = chain;
    this.#reportsItems = random.chance(0.7);
    this.#reportsRecovery = random.chance(0.6);
    this.#isWhole = isWhole;
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
          call: random.pick(['proxy.proxy', ...REMOTE_PROXIES]),
          args: { real: address(other), force_proxy_type: null, call: shaped(what) },
          run: () => [...(isOk ? what.run() : []), ['proxy.ProxyExecuted', result]],
        };
      }
      case 'ifElse':
        return this.#ifElse(signer, inner(signer));
      case 'dispatchAsFallible': {
        const what = inner(other);
        // What it reports is always good; runtimes that report nothing are rare.
        const isTold = this.#isWhole || random.chance(0.7);
        return {
          call: 'utility.dispatchAsFallible',
          args: {
            as_origin: { system: { signed: printed(random, other, this.#chain) } },
            call: shaped(what),
          },
          run: () => [...what.run(), ...(isTold ? [DISPATCHED] : [])],
        };
      }
      case 'controlInheritedAccount': {
        const what = inner(other);
        const isOk = !this.#reportsRecovery || random.chance(0.8);
        const parties = [other, signer].map((key) => printed(random, key, this.#chain));
        const result = isOk ? { ok: null } : { err: BAD_ORIGIN };
        const told: ShapedEvent = ['recovery.RecoveredAccountControlled', ...parties, '0x00', result];
        return {
          call: 'recovery.controlInheritedAccount',
          args: { recovered: address(other), call: shaped(what) },
          run: () => [...(isOk ? what.run() : []), ...(this.#reportsRecovery ? [told] : [])],
        };
      }
      case 'metaTx': {
        const what = inner(other);
        const isOk = random.chance(0.8);
        const result = isOk ? { ok: { actualWeight: null, paysFee: 'Yes' } } : { err: BAD_ORIGIN };
        return {
          call: 'metaTx.dispatch',
          args: { meta_tx: { call: shaped(what), extensionVersion: '0', extension: this.#extension(other) } },
          run: () => [...(isOk ? what.run() : []), ['metaTx.Dispatched', result]],
        };
      }
      case 'withFee': {
        const what = inner(signer);
        const name = random.pick(['Currency', 'Path', 'PaidBy', 'AggregatedPath']);
        return { call: `transactionPayment.withFee${name}`, args: { call: shaped(what) }, run: what.run };
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

  /** The one or the other; what the first had done is rolled back, and nothing tells of it. */
  #ifElse(signer: Key, what: Built): Built {
    const random = this.#random;
    const idle: Built = { call: 'system.remark', args: { remark: '0x00' }, run: () => [] };
    const other = random.chance(0.3)
      ? this.#batch(signer, [() => ({ ...idle, perform: idle.run })], 0)
      : idle;
    const [main, fallback] = random.chance(0.5) ? [what, other] : [other, what];
    const isMain = random.chance(0.5);
    return {
      call: 'utility.ifElse',
      args: {
        main: shapeCall(main.call, main.args),
        fallback: shapeCall(fallback.call, fallback.args),
      },
      run: () =>
        isMain
          ? [...main.run(), ['utility.IfElseMainSuccess']]
          : [...fallback.run(), ['utility.IfElseFallbackCalled', BAD_ORIGIN]],
    };
  }

  /** What a meta transaction says of its signer, in one of its shapes, or nothing. */
  #extension(signer: Key): unknown {
    const account = printed(this.#random, signer, this.#chain);
    const signed = this.#random.pick([
      { signed: { signature: '0x00', account } },
      { Signed: { signature: '0x00', Account: account } },
    ]);
    const printing = [signed, ['0x', signed, null], { verifySignature: signed, nonce: '1' }];
    const silent = ['0x', [], [{ verifySignature: signed }], { signed: { signature: '0x00' } }];
    return this.#random.pick<unknown>(this.#isWhole ? printing : [...printing, ...printing, ...silent]);
  }
}

const WRAPPERS = [
  'proxy',
  'proxy',
  'ifElse',
  'dispatchAsFallible',
  'controlInheritedAccount',
  'metaTx',
  'withFee',
  'asMulti',
  'asMultiThreshold1',
  'asDerivative',
  'sudoAs',
  'dispatchAs',
  'asRecovered',
  'withWeight',
  'schedule',
] as const;

const REMOTE_PROXIES = [
  'remoteProxyRelayChain.remoteProxy',
  'remoteProxyRelayChain.remoteProxyWithRegisteredProof',
  'remoteProxyOther.remoteProxy',
];
const DISPATCHED: ShapedEvent = ['utility.DispatchedAs', { ok: null }];
