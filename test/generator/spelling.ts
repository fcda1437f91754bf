import type { Random } from '../../ingest/demo/random.ts';
import { parseAccount, printAccount } from '../reference/accounts.ts';
import type { ShapedEvent } from '../reference/shaped.ts';
import { GENERIC } from './accounts.ts';
import { hashOf } from './items.ts';

/** An amount in one of the spellings of sources. */
export function amountOf(random: Random, planck: bigint): string | number {
  if (random.chance(0.05)) return `0x${planck.toString(16).padStart(32, '0')}`;
  return random.chance(0.05) && planck < 2n ** 53n ? Number(planck) : planck.toString();
}

/** Arguments that are amounts, and the places of amounts in the data of events. */
const AMOUNTS = new Set(['value', 'amount', 'balance', 'fee', 'aye', 'nay', 'abstain']);
const EVENT_AMOUNTS: Readonly<Record<string, readonly number[]>> = {
  'balances.Transfer': [2],
  'staking.Rewarded': [2],
  'staking.Slashed': [1],
  'nominationPools.PaidOut': [2],
  'referenda.DecisionDepositPlaced': [2],
  'broker.SaleInitialized': [2, 3],
  'broker.Purchased': [2],
  'broker.Renewed': [1],
  'assets.Transferred': [3],
  'childBounties.Claimed': [2],
};
const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{46,49}$/;

/** Writes the same things as other runtimes and sources write them. */
export class Spelling {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  args(call: string, args: object): object {
    const random = this.#random;
    const spelled = this.#fields(args);
    if (call === 'referenda.submit') {
      return {
        ...spelled,
        proposal: this.#proposal(spelled.proposal),
        proposal_origin: this.#origin(spelled),
      };
    }
    if (call === 'convictionVoting.delegate' && random.chance(0.3)) {
      const name = String(spelled.conviction);
      return { ...spelled, conviction: { [name.charAt(0).toLowerCase() + name.slice(1)]: null } };
    }
    if (call === 'convictionVoting.removeVote' && random.chance(0.5)) return { ...spelled, class: null };
    if (call.startsWith('revive.') && 'weight_limit' in spelled && random.chance(0.5)) {
      const { weight_limit: gas_limit, ...rest } = spelled;
      return { ...rest, gas_limit };
    }
    return spelled;
  }

  event([name, ...data]: ShapedEvent, isHub: boolean): ShapedEvent {
    const random = this.#random;
    const amounts = EVENT_AMOUNTS[name] ?? [];
    const spelled = data.map((value, at) =>
      amounts.includes(at) ? this.#amount(value) : this.#value('', value),
    );
    switch (name) {
      case 'broker.Transferred':
        return [name, ...spelled.map((value, at) => (at > 1 && random.chance(0.1) ? null : value))];
      case 'broker.Renewed':
        return [name, ...spelled.slice(0, -1), random.chance(0.3) ? unused(random) : spelled.at(-1)];
      case 'referenda.Submitted':
        return [name, ...spelled.slice(0, -1), this.#proposal(spelled.at(-1))];
      case 'balances.Transfer':
      case 'assets.Transferred':
      case 'system.NewAccount':
        return [name, ...spelled.map((value) => (isHub ? this.#ofEthereum(value) : value))];
      default:
        return [name, ...spelled];
    }
  }

  #fields(fields: object): Record<string, unknown> {
    return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, this.#value(key, value)]));
  }

  #value(key: string, value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#value('', one));
    if (typeof value === 'string')
      return AMOUNTS.has(key) ? this.#amount(value) : ADDRESS.test(value) ? this.#address(value) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (key === 'standard') return this.#standardVote(value as { vote: string; balance: string });
    const fields = this.#fields(value);
    const isAddress = Object.keys(fields).length === 1 && ADDRESS.test(String(fields.id));
    return isAddress && this.#random.chance(0.3) ? fields.id : fields;
  }

  #amount(value: unknown): unknown {
    return /^\d+$/.test(String(value)) ? amountOf(this.#random, BigInt(String(value))) : value;
  }

  #address(address: string): string {
    const key = this.#random.chance(0.15) ? parseAccount(address) : null;
    return key === null ? address : printAccount(key, GENERIC);
  }

  /** The account of an Ethereum address is at times told as that address. */
  #ofEthereum(value: unknown): unknown {
    const key = typeof value === 'string' && ADDRESS.test(value) ? parseAccount(value) : null;
    return key?.endsWith('ee'.repeat(12)) && this.#random.chance(0.5) ? key.slice(0, 42) : value;
  }

  #standardVote({ vote, balance }: { vote: string; balance: string }): object {
    const byte = Number(vote);
    const conviction = byte % 128;
    const parts = { aye: byte >= 128, conviction: conviction === 0 ? 'None' : `Locked${conviction}x` };
    return { vote: this.#random.chance(0.15) ? parts : vote, balance: this.#amount(balance) };
  }

  #proposal(proposal: unknown): unknown {
    const hash = hashOf(this.#random);
    return this.#random.pick<unknown>([
      ...[proposal, proposal],
      { lookup: { hash_: hash, len: '13' } },
      { legacy: { hash } },
    ]);
  }

  #origin({ proposal_origin }: Record<string, unknown>): unknown {
    const random = this.#random;
    if (random.chance(0.2)) return { ambassador: 'Head' };
    const [[kind, name] = ['', '']] = Object.entries(proposal_origin as Record<string, string>);
    return random.chance(0.5)
      ? proposal_origin
      : { [kind]: { [name.charAt(0).toLowerCase() + name.slice(1)]: null } };
  }
}

/** A renewed core on which nothing of its own runs. */
const unused = (random: Random) => [
  { mask: `0x${'f'.repeat(20)}`, assignment: random.pick([{ pool: null }, { idle: null }]) },
];

/** How much a runtime tells of a vote: nothing, who and what, or also on which referendum. */
export type VoteEra = 'silent' | 'unplaced' | 'placed';

/** An event as a runtime of that time emits it, or nothing. */
export function ofEra(era: VoteEra, event: ShapedEvent): readonly ShapedEvent[] {
  if (event[0] !== 'convictionVoting.Voted' || era === 'placed') return [event];
  return era === 'silent' ? [] : [event.slice(0, 3) as unknown as ShapedEvent];
}
