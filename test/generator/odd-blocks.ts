import type { DemoBlock, DemoExtrinsic } from '../../ingest/demo/blocks.ts';
import type { Random } from '../../ingest/demo/random.ts';
import type { Chain } from '../reference/registry.ts';
import type { ShapedEvent, ShapedExtrinsic } from '../reference/shaped.ts';
import { H160S, PEOPLE, printed } from './accounts.ts';
import { OddContracts } from './contracts.ts';
import type { Item } from './items.ts';
import { byItself, inclusions, payout, unreadable, unreadableCall } from './odd-events.ts';
import { ofEra, Spelling, type VoteEra } from './spelling.ts';
import { feeEvents, outcomes, transaction } from './transactions.ts';
import { Wrapper } from './wrappers.ts';

type Written = { readonly opening: readonly ShapedEvent[]; readonly extrinsics: readonly ShapedExtrinsic[] };

/** Calls of which the events tell everything, so that they also tell it alone. */
const TOLD_BY_EVENTS = /^(broker|nominationPools|balances|referenda|bounties)\./;
export const ENDED = /^referenda\.(Confirmed|Rejected|TimedOut|Cancelled|Killed)$/;
const FEE_PAID = 'transactionPayment.TransactionFeePaid';
const REMEMBERED = 30;

/** Writes blocks of the demo as all kinds of runtimes and sources do, with rare cases between. */
export class OddBlocks {
  readonly #random: Random;
  readonly #isWhole: boolean;
  readonly #spelling: Spelling;
  readonly #contracts = new Map<string, OddContracts>();
  /** Referenda that have ended, by relay chain and index. */
  readonly #ended = new Set<string>();
  /** Calls that were made lately, by chain. */
  readonly #recent = new Map<string, Item[]>();

  constructor(random: Random, isWhole: boolean) {
    this.#random = random;
    this.#isWhole = isWhole;
    this.#spelling = new Spelling(random);
  }

  contractsOf({ name }: Chain): OddContracts {
    const known = this.#contracts.get(name) ?? new OddContracts(this.#random, this.#isWhole);
    this.#contracts.set(name, known);
    return known;
  }

  /** The number of a child bounty: some get one that was another child's before. */
  childNumber(id: number): number {
    return !this.#isWhole && id % 3 === 2 ? id - 1 : id;
  }

  write(chain: Chain, block: Pick<DemoBlock, 'opening' | 'extrinsics'>, era: VoteEra): Written {
    const random = this.#random;
    const written = this.#extrinsics(chain, block.extrinsics, era);
    const opening = [
      ...(chain.addresses !== 'h160' && random.chance(0.25) ? byItself(random, chain) : []),
      ...(!this.#isWhole && random.chance(0.02) ? unreadable(random, chain) : []),
      ...block.opening.flatMap((event) => this.#opening(chain, event)),
      ...written.opening,
    ];
    const inherents = chain.role === 'relay' ? [inclusions(random)] : [];
    return { opening, extrinsics: [...inherents, ...written.extrinsics] };
  }

  #opening(chain: Chain, event: ShapedEvent): readonly ShapedEvent[] {
    const [name, index] = event;
    if (ENDED.test(name)) this.#ended.add(`${chain.relay} ${index}`);
    // A sale that nobody saw.
    if (!this.#isWhole && name === 'broker.SaleInitialized' && this.#random.chance(0.15)) return [];
    return [this.#event(chain, event)];
  }

  #extrinsics(chain: Chain, all: readonly DemoExtrinsic[], era: VoteEra): Written {
    const random = this.#random;
    const opening: ShapedEvent[] = [];
    const extrinsics: ShapedExtrinsic[] = [];
    let waiting: Item[] = [];
    const flush = () => {
      if (waiting.length > 0) extrinsics.push(this.#transaction(chain, waiting));
      waiting = [];
    };
    const take = (item: Item) => {
      waiting.push(item);
      if (random.chance(0.6) || waiting.length === 3) flush();
    };
    for (const extrinsic of all) {
      if (extrinsic.call === 'paraInherent.enter') continue;
      if (extrinsic.signer === undefined || chain.addresses === 'h160') {
        extrinsics.push(this.#ofEthereum(chain, extrinsic));
        continue;
      }
      const item = this.#item(chain, extrinsic, extrinsic.signer, era);
      this.#remember(chain, item);
      const isTold = TOLD_BY_EVENTS.test(item.call) && item.events.length > 0;
      const isVote = item.call === 'convictionVoting.vote' && (era === 'placed' || !this.#isWhole);
      if (!extrinsic.success) extrinsics.push(this.#transaction(chain, [item], false));
      else if ((isTold || isVote) && random.chance(0.06)) opening.push(...item.events);
      else take(item);
    }
    for (const item of this.#oddItems(chain, all)) take(item);
    flush();
    if (chain.addresses !== 'h160' && random.chance(0.12))
      extrinsics.push(this.#transaction(chain, [this.#idle(chain), this.#idle(chain)], false));
    if (chain.role === 'asset-hub' && random.chance(0.4))
      extrinsics.push(this.contractsOf(chain).ethereum(chain));
    return { opening, extrinsics };
  }

  /** Calls that the demo has not, of anybody. */
  #oddItems(chain: Chain, all: readonly DemoExtrinsic[]): Item[] {
    const random = this.#random;
    if (chain.addresses === 'h160') return [];
    const items: Omit<Item, 'actor'>[] = [];
    const actor = random.pick(PEOPLE);
    if (!this.#isWhole && random.chance(0.02)) items.push(unreadableCall(random));
    const isHome = all.some(({ call }) => /^(staking|nominationPools)\./.test(call));
    if (isHome && random.chance(0.5)) items.push(payout(random, chain));
    if (chain.role === 'asset-hub' && random.chance(0.6)) items.push(this.contractsOf(chain).call(actor));
    // Votes and removals that come too late.
    const late = (this.#recent.get(chain.name) ?? []).filter(({ call, args }) => {
      const { poll_index, index = poll_index } = args as { poll_index?: string; index?: string };
      return call.startsWith('convictionVoting.') && this.#ended.has(`${chain.relay} ${index}`);
    });
    const again = late.length > 0 && random.chance(0.3) ? [random.pick(late)] : [];
    return [...items.map((item) => ({ ...item, actor })), ...again];
  }

  #item(chain: Chain, { call, args, events }: DemoExtrinsic, actor: string, era: VoteEra): Item {
    // Of some calls that ran nothing is told.
    const isLost = !this.#isWhole && this.#random.chance(0.02);
    const emitted = events.filter(([name]) => name !== FEE_PAID && !isLost);
    const told = emitted.flatMap((event) => ofEra(era, event));
    return {
      ...{ call, actor },
      args: this.#numbered(this.#spelling.args(call, args)),
      events: told.map((event) => this.#event(chain, event)),
    };
  }

  #event({ role }: Chain, event: ShapedEvent): ShapedEvent {
    const random = this.#random;
    const [name, ...data] = this.#spelling.event(event, role === 'asset-hub');
    const [first, second, ...rest] = data;
    switch (name) {
      case 'referenda.Submitted':
      case 'referenda.DecisionStarted':
        // A track that only the state names.
        return [name, first, second === '2' && !this.#isWhole ? '77' : second, ...rest];
      case 'childBounties.Claimed': {
        const [payout, beneficiary] = rest;
        const few = random.pick([payout, payout, '0', '1000000000']);
        return [name, first, String(this.childNumber(Number(second))), few, beneficiary];
      }
      case 'childBounties.Added':
      case 'childBounties.Awarded':
      case 'childBounties.Canceled':
        return [name, first, String(this.childNumber(Number(second))), ...rest];
      default:
        return [name, ...data];
    }
  }

  #numbered(args: object): object {
    if (!('child_bounty_id' in args)) return args;
    return { ...args, child_bounty_id: String(this.childNumber(Number(args.child_bounty_id))) };
  }

  #transaction(chain: Chain, items: readonly Item[], success = true): ShapedExtrinsic {
    const random = this.#random;
    const wrapper = new Wrapper(random, chain, this.#isWhole, () => this.#idle(chain));
    return transaction(random, chain, wrapper.wrap(items), { isWhole: this.#isWhole, success });
  }

  /** A call as somebody made it, of somebody else. */
  #idle({ name }: Chain): Item {
    const random = this.#random;
    const actor = random.pick(PEOPLE);
    const remark: Item = { call: 'system.remark', args: { remark: '0x00' }, events: [], actor };
    return { ...random.pick(this.#recent.get(name) ?? [remark]), actor };
  }

  #remember({ name }: Chain, item: Item): void {
    this.#recent.set(name, [...(this.#recent.get(name) ?? []), item].slice(-REMEMBERED));
  }

  /** A transaction without a signature, or of an account that is an Ethereum address. */
  #ofEthereum(chain: Chain, { call, args, signer, events, hash }: DemoExtrinsic): ShapedExtrinsic {
    const random = this.#random;
    const told = events
      .filter(([name]) => name !== FEE_PAID)
      .map((event) => (event[0] === 'ethereum.Executed' && random.chance(0.4) ? reverted(event) : event));
    if (signer !== undefined) {
      const from = random.pick(H160S);
      const paid = random.chance(0.5) ? feeEvents(random, from) : [];
      return { call, args, nonce: '1', ...(random.chance(0.2) ? {} : { signer: from }), events: paid };
    }
    const payer =
      chain.addresses === 'h160' ? random.pick(H160S) : printed(random, random.pick(PEOPLE), chain);
    const paid = random.chance(0.4) ? feeEvents(random, payer) : [];
    return {
      ...{ call, args, hash, paysFee: false },
      ...outcomes(random, this.#isWhole, true, [...told, ...paid]),
    };
  }
}

/** The same transaction, when its contract gave up. */
const reverted = ([name, from, to, hash]: ShapedEvent): ShapedEvent => [
  ...([name, from, to, hash] as const),
  ...([{ revert: 'Reverted' }, '0x'] as const),
];
