import type { Random } from '../../ingest/demo/random.ts';
import type { Chain } from '../reference/registry.ts';
import { type ShapedEvent, shapeCall } from '../reference/shaped.ts';
import { DERIVED, type Derived, type Key, multiAddress, PEOPLE, printed } from './accounts.ts';
import { BAD_ORIGIN, type Item } from './items.ts';

type Built = {
  readonly call: string;
  readonly args: object;
  readonly events: readonly ShapedEvent[];
};
/** A call around another one: its arguments, and what it reports of the other one. */
type Form = {
  readonly call: string;
  readonly args: (inner: object) => object;
  readonly report: (isOk: boolean) => readonly ShapedEvent[];
  /** It can report that the call inside failed; others fail with it. */
  readonly canFail: boolean;
};

/**
 * Wraps calls into calls as users do: batches of all kinds, proxies, multisigs, derived accounts. Some also hold calls
 * that do not run, of which no event tells.
 */
export class Wrapper {
  readonly #random: Random;
  readonly #chain: Chain;
  /** Every account that acts is printed, and what runs is told. */
  readonly #isWhole: boolean;
  /** A call that must not run. */
  readonly #idle: () => Item;
  /** Old runtimes do not report the items of a batch, and have no forced ones. */
  readonly #reportsItems: boolean;
  /** Nor whether a call for an inherited account went well: it fails with that call. */
  readonly #reportsRecovery: boolean;
  /** Rare runtimes report no result of a fallible dispatch. What others report beside it could be taken for its. */
  readonly #reportsFallible: boolean;

  constructor(random: Random, chain: Chain, isWhole: boolean, idle: () => Item) {
    this.#random = random;
    this.#chain = chain;
    this.#isWhole = isWhole;
    this.#idle = idle;
    this.#reportsItems = random.chance(0.7);
    this.#reportsRecovery = random.chance(0.6);
    this.#reportsFallible = isWhole || random.chance(0.8);
  }

  /** An extrinsic that makes these calls, plain if there is but one, or wrapped to some depth. */
  wrap(made: readonly Item[]): Built & { readonly signer: Key } {
    const random = this.#random;
    const items = made.map((item) => ({
      ...item,
      events: item.events.filter((event) => this.#isTold(event)),
    }));
    const first = items[0] as Item;
    const signer = random.chance(0.25) ? random.pick(PEOPLE) : (controllerOf(first.actor) ?? first.actor);
    if (items.length === 1) return { signer, ...this.#make(signer, first, 2) };
    if (random.chance(0.7)) return { signer, ...this.#batch(signer, items, 1) };
    const actor = random.pick(PEOPLE.filter((key) => key !== signer));
    return { signer, ...this.#around(this.#onBehalf(actor), this.#batch(actor, items, 1)) };
  }

  #isTold([name]: ShapedEvent): boolean {
    return this.#reportsItems || name !== 'utility.ItemCompleted';
  }

  /** A call of the item's actor, made by another account or by itself. */
  #make(by: Key, item: Item, depth: number): Built {
    const { actor } = item;
    const derived = DERIVED.get(actor);
    if (derived !== undefined && controls(by, derived))
      return this.#around(this.#derived(by, actor, derived), this.#make(actor, item, depth - 1));
    if (by !== actor) return this.#around(this.#onBehalf(actor), this.#make(actor, item, depth - 1));
    if (depth <= 0 || this.#random.chance(0.7)) return item;
    return this.#same(by, this.#make(by, item, depth - 1));
  }

  #around({ call, args, report }: Form, inner: Built): Built {
    return { call, args: args(shaped(inner)), events: [...inner.events, ...report(true)] };
  }

  /** A call that does nothing but report that what is inside did not run. */
  #hindered(by: Key): Built {
    const random = this.#random;
    const inner = this.#make(by, { ...this.#idle(), actor: by }, 1);
    if (random.chance(0.2)) {
      const args = { when: '1', maybe_periodic: null, priority: '0', call: shaped(inner) };
      return { call: 'scheduler.schedule', args, events: [['scheduler.Scheduled', '1', '0']] };
    }
    if (random.chance(0.2)) {
      const other = random.pick(PEOPLE.filter((key) => key !== by));
      const members = [by, other] as const;
      const { call, args } = this.#multisig(by, random.pick(PEOPLE), { members, threshold: 2 });
      const who = printed(random, by, this.#chain);
      const told: ShapedEvent = ['multisig.NewMultisig', who, who, '0x00'];
      return { call, args: args(shaped(inner)), events: [told] };
    }
    let form = this.#onBehalf(random.pick(PEOPLE));
    while (!form.canFail) form = this.#onBehalf(random.pick(PEOPLE));
    return { call: form.call, args: form.args(shaped(inner)), events: form.report(false) };
  }

  #batch(by: Key, items: readonly Item[], depth: number): Built {
    const random = this.#random;
    const built = items.map((item) => this.#make(by, item, depth));
    if (random.chance(0.2)) built.splice(random.whole(0, built.length), 0, this.#hindered(by));
    const completed: readonly ShapedEvent[] = this.#reportsItems ? [['utility.ItemCompleted']] : [];
    const done = built.flatMap(({ events }) => [...events, ...completed]);
    const argsOf = (calls: readonly Built[]) => ({ calls: calls.map(shaped) });
    const kind = random.pick(
      this.#reportsItems ? ['batch', 'batchAll', 'forceBatch'] : ['batch', 'batchAll'],
    );
    if (kind === 'forceBatch') return this.#forced(by, built);
    if (kind === 'batch' && random.chance(0.4)) {
      const left = Array.from({ length: random.whole(1, 2) }, () => this.#make(by, this.#idle(), depth));
      const end: ShapedEvent = ['utility.BatchInterrupted', String(built.length), BAD_ORIGIN];
      return { call: 'utility.batch', args: argsOf([...built, ...left]), events: [...done, end] };
    }
    const end: ShapedEvent = ['utility.BatchCompleted'];
    return { call: `utility.${kind}`, args: argsOf(built), events: [...done, end] };
  }

  #forced(by: Key, built: readonly Built[]): Built {
    const failing = Array.from({ length: this.#random.whole(0, 2) }, () => this.#make(by, this.#idle(), 1));
    const calls = this.#random.shuffled([...built, ...failing]);
    // What runs keeps its order.
    const running = built.values();
    const ordered = calls.map((one) => (failing.includes(one) ? one : (running.next().value as Built)));
    const events = ordered.flatMap((one): readonly ShapedEvent[] =>
      failing.includes(one)
        ? [['utility.ItemFailed', BAD_ORIGIN]]
        : [...one.events, ['utility.ItemCompleted']],
    );
    const end = failing.length > 0 ? 'utility.BatchCompletedWithErrors' : 'utility.BatchCompleted';
    return {
      call: 'utility.forceBatch',
      args: { calls: ordered.map(shaped) },
      events: [...events, [end]],
    };
  }

  /** One call around another of the same account. */
  #same(by: Key, what: Built): Built {
    const random = this.#random;
    const call = shaped(what);
    switch (random.pick(['ifElse', 'ifElse', 'withFee', 'withWeight', 'batch'])) {
      case 'ifElse':
        return this.#ifElse(by, what);
      case 'withFee': {
        const name = random.pick(['Currency', 'Path', 'PaidBy', 'AggregatedPath']);
        return { call: `transactionPayment.withFee${name}`, args: { call }, events: what.events };
      }
      case 'withWeight':
        return { call: 'utility.withWeight', args: { call, weight: {} }, events: what.events };
      default:
        return this.#batch(by, [{ ...what, actor: by }], 0);
    }
  }

  /** The one or the other; what the first had done is rolled back, and nothing tells of it. */
  #ifElse(by: Key, what: Built): Built {
    const random = this.#random;
    const remark: Built = { call: 'system.remark', args: { remark: '0x00' }, events: [] };
    const other = random.chance(0.5) ? this.#make(by, this.#idle(), 1) : remark;
    const isMain = random.chance(0.5);
    const [main, fallback] = isMain ? [what, other] : [other, what];
    const told: ShapedEvent = isMain
      ? ['utility.IfElseMainSuccess']
      : ['utility.IfElseFallbackCalled', BAD_ORIGIN];
    const args = { main: shaped(main), fallback: shaped(fallback) };
    return { call: 'utility.ifElse', args, events: [...what.events, told] };
  }

  /** How an account acts that has no key. */
  #derived(by: Key, account: Key, derived: Derived): Form {
    if ('members' in derived) return this.#multisig(by, account, derived);
    return {
      ...{ call: 'utility.asDerivative', report: () => [], canFail: false },
      args: (call) => ({ index: String(derived.index), call }),
    };
  }

  #multisig(by: Key, account: Key, { members, threshold }: Extract<Derived, { members: unknown }>): Form {
    const random = this.#random;
    const print = (key: Key) => printed(random, key, this.#chain);
    const other_signatories = members.filter((key) => key !== by).map(print);
    if (threshold === 1) {
      const args = (call: object) => ({ other_signatories, call });
      return { call: 'multisig.asMultiThreshold1', args, report: () => [], canFail: false };
    }
    const at = [print(by), { height: '1', index: '1' }, print(account), '0x00'];
    return {
      ...{ call: 'multisig.asMulti', canFail: true },
      args: (call) => ({ threshold: '2', other_signatories, call }),
      report: (isOk) => [['multisig.MultisigExecuted', ...at, isOk ? { ok: null } : { err: BAD_ORIGIN }]],
    };
  }

  /** One of the ways to act for another account. */
  #onBehalf(actor: Key): Form {
    const random = this.#random;
    const address = multiAddress(random, actor, this.#chain);
    const account = printed(random, actor, this.#chain);
    const as_origin = { system: { signed: account } };
    const result = (isOk: boolean) => (isOk ? random.pick([{ ok: null }, { ok: [] }]) : { err: BAD_ORIGIN });
    switch (random.pick(this.#reportsFallible ? [...ON_BEHALF, 'dispatchAs' as const] : ON_BEHALF)) {
      case 'proxy':
        return {
          ...{ call: random.pick(['proxy.proxy', ...REMOTE_PROXIES]), canFail: true },
          args: (call) => ({ real: address, force_proxy_type: null, call }),
          report: (isOk) => [['proxy.ProxyExecuted', isOk && random.chance(0.3) ? 'Ok' : result(isOk)]],
        };
      case 'dispatchAs':
        return {
          ...{ call: 'utility.dispatchAs', canFail: true },
          args: (call) => ({ as_origin, call }),
          report: (isOk) => [['utility.DispatchedAs', result(isOk)]],
        };
      case 'dispatchAsFallible':
        return {
          ...{ call: 'utility.dispatchAsFallible', canFail: false },
          args: (call) => ({ as_origin, call }),
          report: () => (this.#reportsFallible ? [['utility.DispatchedAs', { ok: null }]] : []),
        };
      case 'controlInheritedAccount':
        return {
          ...{ call: 'recovery.controlInheritedAccount', canFail: this.#reportsRecovery },
          args: (call) => ({ recovered: address, call }),
          report: (isOk) =>
            this.#reportsRecovery
              ? [['recovery.RecoveredAccountControlled', account, account, '0x00', result(isOk)]]
              : [],
        };
      case 'metaTx':
        return {
          ...{ call: 'metaTx.dispatch', canFail: true },
          args: (call) => ({ meta_tx: { call, extensionVersion: '0', extension: this.#extension(actor) } }),
          report: (isOk) => [
            ['metaTx.Dispatched', isOk ? { ok: { actualWeight: null, paysFee: 'Yes' } } : result(false)],
          ],
        };
      case 'sudoAs':
        return {
          ...{ call: 'sudo.sudoAs', canFail: true },
          args: (call) => ({ who: address, call }),
          report: (isOk) => [['sudo.SudoAsDone', isOk && random.chance(0.5) ? true : result(isOk)]],
        };
      default:
        return {
          ...{ call: 'recovery.asRecovered', report: () => [], canFail: false },
          args: (call) => ({ account: address, call }),
        };
    }
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

const shaped = ({ call, args }: Built) => shapeCall(call, args);

const controls = (by: Key, derived: Derived): boolean =>
  'members' in derived ? derived.members.includes(by) : derived.parent === by;

function controllerOf(account: Key): Key | undefined {
  const derived = DERIVED.get(account);
  if (derived === undefined) return undefined;
  return 'members' in derived ? derived.members[0] : derived.parent;
}

const ON_BEHALF = [
  ...['proxy', 'proxy', 'dispatchAsFallible'],
  ...['controlInheritedAccount', 'metaTx', 'sudoAs', 'asRecovered'],
] as const;

const REMOTE_PROXIES = [
  'remoteProxyRelayChain.remoteProxy',
  'remoteProxyRelayChain.remoteProxyWithRegisteredProof',
  'remoteProxyOther.remoteProxy',
];
