import type { Random } from '../../ingest/demo/random.ts';
import type { Chain } from '../reference/registry.ts';
import type { ShapedEvent } from '../reference/shaped.ts';
import { multiAddress, PEOPLE, printed } from './accounts.ts';
import { amountOf, type Maker } from './actions.ts';

type Child = { readonly parent: number; id: number; stage: number };

const DESCRIPTIONS = ['Übersetzung', 'French', 'plain words', ''];

/** Bounties and their child bounties on one chain after another. */
export class BountyModel {
  readonly #random: Random;
  #bounties = 0;
  readonly #children: Child[] = [];
  /** At first all children share one sequence of numbers, later each parent has its own. */
  #isRenumbered = false;

  constructor(random: Random) {
    this.#random = random;
  }

  progress(): readonly ShapedEvent[] {
    if (this.#bounties === 0) return [];
    const id = String(this.#random.whole(0, this.#bounties - 1));
    return [[this.#random.pick(['bounties.BountyBecameActive', 'bounties.BountyExtended']), id]];
  }

  /** Children get the numbers from 0 on within their parent. What is told of it may leave some out, or be wrong. */
  renumber(): object {
    const random = this.#random;
    const written = (id: number) => (random.chance(0.5) ? id : String(id));
    const entry = (parent: number, old: number, now: number) => ({
      parent: written(parent),
      old: written(old),
      new: written(now),
    });
    const ids = [...Map.groupBy(this.#children, ({ parent }) => parent)].flatMap(([parent, children]) => {
      const numbers = children.map(({ id }) => id);
      const entries = children.map((child, now) => {
        const { id } = child;
        child.id = now;
        // Of several with one number only the last is still named.
        return numbers.lastIndexOf(id) === now ? [entry(parent, id, now)] : [];
      });
      const unseen = random.chance(0.2) ? [entry(parent, 10 ** 6, children.length)] : [];
      return [...entries.flat(), ...unseen];
    });
    this.#isRenumbered = true;
    const kept = ids.filter(() => !random.chance(0.1));
    const repeated = random.chance(0.1) ? kept.slice(0, 1) : [];
    return { ids: [...kept, ...repeated] };
  }

  action(chain: Chain): Maker {
    const random = this.#random;
    if (this.#bounties === 0 || random.chance(0.1)) return this.#propose();
    const open = this.#children.filter(({ stage }) => stage < 4);
    if (open.length === 0 || random.chance(0.3)) return this.#add();
    return this.#advance(chain, random.pick(open));
  }

  #propose(): Maker {
    const value = amountOf(this.#random, BigInt(this.#random.whole(1, 10 ** 9)) * 1000n);
    return () => ({
      call: 'bounties.proposeBounty',
      args: { value, description: '0x00' },
      perform: () => [['bounties.BountyProposed', String(this.#bounties++)]],
    });
  }

  #add(): Maker {
    const random = this.#random;
    const parent = random.whole(0, this.#bounties - 1);
    const description = random.pick(DESCRIPTIONS);
    const value = amountOf(random, BigInt(random.whole(1, 10 ** 9)));
    return () => ({
      call: 'childBounties.addChildBounty',
      args: {
        parent_bounty_id: String(parent),
        value,
        description: `0x${Buffer.from(description).toString('hex')}`,
      },
      perform: () => {
        const siblings = this.#children.filter((child) => child.parent === parent).length;
        const next = this.#isRenumbered ? siblings : this.#children.length;
        // At times a number that was another child's before.
        const id = random.chance(0.3) ? random.whole(0, next) : next;
        this.#children.push({ parent, id, stage: 0 });
        return [['childBounties.Added', String(parent), String(id)]];
      },
    });
  }

  #advance(chain: Chain, child: Child): Maker {
    const random = this.#random;
    const ids = { parent_bounty_id: String(child.parent), child_bounty_id: String(child.id) };
    const told = (name: string, ...more: readonly unknown[]): ShapedEvent => [
      `childBounties.${name}`,
      ...Object.values(ids),
      ...more,
    ];
    const someone = random.pick(PEOPLE);
    const meantFor = child.stage;
    const step = (name: string, stage: number, args: object, ...events: readonly ShapedEvent[]): Maker => {
      return () => ({
        call: `childBounties.${name}`,
        args: { ...ids, ...args },
        perform: () => {
          if (child.stage !== meantFor) return [];
          child.stage = stage;
          return events;
        },
      });
    };
    if (random.chance(0.08)) return step('closeChildBounty', 4, {}, told('Canceled'));
    if (child.stage > 0 && child.stage < 3 && random.chance(0.15)) return step('unassignCurator', 0, {});
    const curator = multiAddress(random, someone, chain);
    const beneficiary = printed(random, someone, chain);
    switch (child.stage) {
      case 0:
        return step('proposeCurator', 1, {
          curator,
          fee: amountOf(random, BigInt(random.whole(0, 10 ** 6))),
        });
      case 1:
        return step('acceptCurator', 2, {});
      case 2:
        return step('awardChildBounty', 3, { beneficiary: curator }, told('Awarded', beneficiary));
      default: {
        const payout = amountOf(random, BigInt(random.whole(0, 4)) * 10n ** 9n);
        return step('claimChildBounty', 4, {}, told('Claimed', payout, beneficiary));
      }
    }
  }
}
