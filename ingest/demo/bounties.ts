import type { DemoEvent } from './blocks.ts';
import type { Cast, DemoKey } from './cast.ts';
import type { DayBook } from './day-book.ts';
import type { Random } from './random.ts';

interface DemoBounty {
  readonly id: number;
  readonly proposedOn: number;
  readonly work: readonly string[];
  isActive: boolean;
  children: number;
}

interface DemoChild {
  readonly parent: DemoBounty;
  id: number;
  readonly value: number;
  readonly curator: DemoKey;
  readonly beneficiary: DemoKey;
  readonly isCanceled: boolean;
  /** The day of its next step, from proposing a curator to the claim. */
  next: number;
  step: number;
}

const PROGRAMMES: readonly (readonly string[])[] = [
  ['Event in Lisbon', 'Event in Seoul', 'Event in Buenos Aires', 'Meetup series'],
  ['Moderation of channels', 'Fraud reports of the month', 'Takedown of phishing sites'],
  ['Translation of the documentation', 'Video course', 'Workshop for developers', 'Übersetzung ins Deutsche'],
  ['Audit of a pallet', 'Audit of a wallet', 'Review of a bridge'],
  ['Prize of the hackathon', 'Mentoring', 'Grant for tooling'],
];
const FIRST_BOUNTY = 60;

/** The probability of a new child bounty on a day, and the days between two new bounties. */
export interface BountiesPace {
  readonly children: number;
  readonly days: number;
}

/** Bounties of a treasury, and the child bounties that their curators pay out. */
export class Bounties {
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #bounties: DemoBounty[] = [];
  readonly #pace: BountiesPace;
  readonly #children: DemoChild[] = [];
  /** Child bounties have one sequence of ids at first, and later one for each parent. */
  #isRenumbered = false;

  constructor(random: Random, cast: Cast, pace: BountiesPace) {
    this.#random = random;
    this.#cast = cast;
    this.#pace = pace;
  }

  /** Renumbers the child bounties within their parents, as asset hubs did. Returns the map of ids in the state. */
  renumber(): { ids: readonly { parent: number; old: number; new: number }[] } {
    this.#isRenumbered = true;
    const ids = [...Map.groupBy(this.#children, ({ parent }) => parent)].flatMap(([parent, children]) =>
      children.map((child, number) => {
        const entry = { parent: parent.id, old: child.id, new: number };
        child.id = number;
        return entry;
      }),
    );
    return { ids };
  }

  write(book: DayBook): void {
    const random = this.#random;
    const [work] = PROGRAMMES.slice(this.#bounties.length);
    if (work !== undefined && book.day >= this.#bounties.length * this.#pace.days) this.#propose(book, work);
    for (const bounty of this.#bounties) {
      const age = book.day - bounty.proposedOn;
      if (!bounty.isActive && age >= 2) {
        bounty.isActive = true;
        book.emit(['bounties.BountyBecameActive', String(bounty.id)]);
      } else if (age > 0 && age % 60 === 0) {
        book.emit(['bounties.BountyExtended', String(bounty.id)]);
      }
    }
    for (const child of this.#children) {
      if (child.step < STEPS_MAX && book.day >= child.next) this.#advance(book, child);
    }
    const active = this.#bounties.filter(({ isActive }) => isActive);
    if (active.length > 0 && random.chance(this.#pace.children * book.passed))
      this.#add(book, random.pick(active));
  }

  #propose(book: DayBook, work: readonly string[]): void {
    const id = FIRST_BOUNTY + this.#bounties.length;
    this.#bounties.push({ id, work, proposedOn: book.day, isActive: false, children: 0 });
    const value = book.planck(this.#random.whole(4, 30) * 5000);
    const args = { value, description: '0x64656d6f' };
    book.sign(this.#cast.randomKey(), 'bounties.proposeBounty', args, [
      ['bounties.BountyProposed', String(id)],
    ]);
  }

  #add(book: DayBook, parent: DemoBounty): void {
    const random = this.#random;
    const siblings = parent.children++;
    const id = this.#isRenumbered ? siblings : this.#children.length;
    const value = random.whole(3, 90) * 50;
    const curator = this.#cast.at(random.whole(2, 12));
    const beneficiary = this.#cast.randomKey(90);
    this.#children.push({
      ...{ parent, id, value, curator, beneficiary },
      ...{ isCanceled: random.chance(0.08), next: book.day, step: 0 },
    });
    const args = {
      parent_bounty_id: String(parent.id),
      value: book.planck(value),
      description: `0x${Buffer.from(random.pick(parent.work)).toString('hex')}`,
    };
    book.sign(curator, 'childBounties.addChildBounty', args, [
      ['childBounties.Added', String(parent.id), String(id)],
    ]);
  }

  #advance(book: DayBook, child: DemoChild): void {
    const ids = { parent_bounty_id: String(child.parent.id), child_bounty_id: String(child.id) };
    const eventOf = (name: string, ...more: readonly string[]): DemoEvent => [
      `childBounties.${name}`,
      ...Object.values(ids),
      ...more,
    ];
    const curator = { id: book.addressOf(child.curator) };
    const beneficiary = book.addressOf(child.beneficiary);
    const signs = (call: string, args: object, ...events: readonly DemoEvent[]) =>
      book.sign(child.curator, `childBounties.${call}`, { ...ids, ...args }, events);
    if (child.step === 2 && child.isCanceled) {
      signs('closeChildBounty', {}, eventOf('Canceled'));
      child.step = STEPS_MAX;
      return;
    }
    if (child.step > 0 && child.step < 3 && this.#random.chance(0.05)) {
      signs('unassignCurator', {});
      child.step = 0;
      return;
    }
    const fee = child.value * 0.05;
    switch (child.step) {
      case 0:
        signs('proposeCurator', { curator, fee: book.planck(fee) });
        break;
      case 1:
        signs('acceptCurator', {});
        break;
      case 2:
        signs('awardChildBounty', { beneficiary: { id: beneficiary } }, eventOf('Awarded', beneficiary));
        break;
      default:
        signs('claimChildBounty', {}, eventOf('Claimed', book.planck(child.value - fee), beneficiary));
    }
    child.step += 1;
    // A payout has a delay of eight days.
    child.next = book.day + (child.step === 3 ? 8 : this.#random.whole(1, 12));
  }
}

const STEPS_MAX = 4;
