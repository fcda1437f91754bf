import type { DemoEvent } from './blocks.ts';
import { type Cast, type DemoKey, hexOf } from './cast.ts';
import { type DayBook, planckOf } from './day-book.ts';
import type { Random } from './random.ts';

interface Track {
  readonly id: number;
  readonly origin: string;
  /** Days of preparation, of decision and of confirmation. */
  readonly days: readonly [prepare: number, decide: number, confirm: number];
  /** Units of the token. */
  readonly deposit: number;
}

const TRACKS: readonly Track[] = [
  { id: 0, origin: 'Root', days: [1, 26, 1], deposit: 100_000 },
  { id: 1, origin: 'WhitelistedCaller', days: [1, 5, 1], deposit: 10_000 },
  { id: 2, origin: 'WishForChange', days: [1, 21, 2], deposit: 20_000 },
  { id: 11, origin: 'Treasurer', days: [1, 23, 4], deposit: 1_000 },
  { id: 30, origin: 'SmallTipper', days: [1, 5, 1], deposit: 1 },
  { id: 31, origin: 'BigTipper', days: [1, 6, 1], deposit: 10 },
  { id: 32, origin: 'SmallSpender', days: [2, 16, 3], deposit: 100 },
  { id: 33, origin: 'MediumSpender', days: [2, 20, 3], deposit: 200 },
  { id: 34, origin: 'BigSpender', days: [2, 22, 5], deposit: 400 },
];

type Outcome = 'Confirmed' | 'Rejected' | 'TimedOut' | 'Cancelled' | 'Killed';

interface DemoReferendum {
  readonly index: number;
  readonly track: Track;
  readonly submittedOn: number;
  readonly proposal: object;
  readonly outcome: Outcome;
  /** Share of the votes that are for it. */
  readonly favour: number;
  readonly votes: Map<DemoKey, { aye: boolean; conviction: number; balance: bigint }>;
  stage: 'preparing' | 'deciding' | 'confirming' | 'ended';
}

interface DemoDelegation {
  readonly target: DemoKey;
  readonly conviction: number;
  readonly balance: bigint;
}

const VOTERS = 140;
const DELEGATES = 6;
const CONVICTIONS = [0, 1, 1, 1, 2, 2, 3, 4, 6] as const;

/** The governance of one relay chain's token: referenda from submission to their end, votes and delegations. */
export class Governance {
  readonly #random: Random;
  readonly #cast: Cast;
  /** Referenda in a week, and votes on one of them in a day. */
  readonly #pace: { readonly referenda: number; readonly votes: number };
  readonly #referenda: DemoReferendum[] = [];
  readonly #delegations = new Map<string, DemoDelegation>();
  #next: number;

  constructor(random: Random, cast: Cast, first: number, pace: { referenda: number; votes: number }) {
    this.#random = random;
    this.#cast = cast;
    this.#next = first;
    this.#pace = pace;
  }

  write(book: DayBook): void {
    const random = this.#random;
    for (const one of this.#referenda) this.#advance(book, one);
    const expected = (this.#pace.referenda / 7) * book.passed;
    const submitted = Math.floor(expected) + (random.chance(expected % 1) ? 1 : 0);
    for (let made = 0; made < submitted; made++) this.#submit(book);
    for (const one of this.#referenda) {
      if (one.stage === 'ended') continue;
      // Most votes come at the beginning, so that the first tally says something.
      const eager = one.stage === 'preparing' ? 5 : book.day - one.submittedOn < 4 ? 1.8 : 0.7;
      const votes = Math.round(this.#pace.votes * eager * random.fraction() * 2 * book.passed);
      for (let made = 0; made < votes; made++) this.#vote(book, one);
    }
    if (random.chance(0.35 * book.passed)) this.#delegate(book);
    if (random.chance(0.05)) this.#undelegate(book);
  }

  #submit(book: DayBook): void {
    const random = this.#random;
    const track = random.pick([...TRACKS, ...TRACKS.slice(4)]);
    const proposal = { lookup: { hash: hexOf(random, 32), len: String(random.whole(40, 900)) } };
    const roll = random.fraction();
    const outcome: Outcome =
      roll < 0.62
        ? 'Confirmed'
        : roll < 0.87
          ? 'Rejected'
          : roll < 0.93
            ? 'TimedOut'
            : roll < 0.98
              ? 'Cancelled'
              : 'Killed';
    const favour = outcome === 'Confirmed' ? 0.72 + random.fraction() * 0.26 : 0.12 + random.fraction() * 0.4;
    const index = this.#next++;
    this.#referenda.push({
      ...{ index, track, proposal, outcome, favour, submittedOn: book.day },
      ...{ votes: new Map(), stage: 'preparing' },
    });
    const name = track.origin;
    const proposal_origin = name === 'Root' ? { system: 'Root' } : { origins: name };
    const args = { proposal_origin, proposal, enactment_moment: { after: '100' } };
    const event: DemoEvent = ['referenda.Submitted', String(index), String(track.id), proposal];
    book.signs(this.#voter(), 'referenda.submit', args, [event]);
  }

  /** What the pallet does by itself when its periods are over. */
  #advance(book: DayBook, one: DemoReferendum): void {
    const [prepare, decide, confirm] = one.track.days;
    const age = book.day - one.submittedOn;
    const index = String(one.index);
    if (one.stage === 'preparing' && age >= prepare) {
      // Nobody places a deposit for what times out.
      if (one.outcome === 'TimedOut') {
        if (age >= 14) this.#end(book, one);
        return;
      }
      one.stage = 'deciding';
      const payer = this.#voter();
      const deposit = book.planck(one.track.deposit);
      const placed: DemoEvent = ['referenda.DecisionDepositPlaced', index, book.printed(payer), deposit];
      book.signs(payer, 'referenda.placeDecisionDeposit', { index }, [placed]);
      book.happens([
        'referenda.DecisionStarted',
        index,
        String(one.track.id),
        one.proposal,
        this.#tally(one),
      ]);
    } else if (one.stage === 'deciding') {
      if (one.outcome === 'Confirmed' && age >= prepare + decide - confirm) {
        one.stage = 'confirming';
        book.happens(['referenda.ConfirmStarted', index]);
      } else if (one.outcome !== 'Confirmed' && age >= (one.outcome === 'Rejected' ? decide : decide / 2)) {
        this.#end(book, one);
      }
    } else if (one.stage === 'confirming' && age >= prepare + decide) {
      this.#end(book, one);
    }
  }

  #end(book: DayBook, one: DemoReferendum): void {
    const index = String(one.index);
    book.happens([`referenda.${one.outcome}`, index, this.#tally(one)]);
    if (one.outcome === 'Confirmed') book.happens(['referenda.Approved', index]);
    one.stage = 'ended';
  }

  #vote(book: DayBook, one: DemoReferendum): void {
    const random = this.#random;
    const voter = this.#voter();
    const poll_index = String(one.index);
    const units = 20 + 40_000 * random.fraction() ** 5;
    const balance = planckOf(units, book.chain.decimals);
    const who = book.printed(voter);
    const roll = random.fraction();
    if (roll < 0.04 && one.votes.has(voter)) {
      one.votes.delete(voter);
      const args = { class: String(one.track.id), index: poll_index };
      book.signs(voter, 'convictionVoting.removeVote', args, []);
      return;
    }
    if (roll < 0.1) {
      const abstain = book.planck(units);
      const vote = { splitAbstain: { aye: '0', nay: '0', abstain } };
      one.votes.delete(voter);
      book.signs(voter, 'convictionVoting.vote', { poll_index, vote }, [
        ['convictionVoting.Voted', who, vote, poll_index],
      ]);
      return;
    }
    const aye = random.chance(one.favour);
    const conviction = random.pick(CONVICTIONS);
    one.votes.set(voter, { aye, conviction, balance });
    const byte = (aye ? 0x80 : 0) + conviction;
    const vote = {
      standard: { vote: `0x${byte.toString(16).padStart(2, '0')}`, balance: balance.toString() },
    };
    book.signs(voter, 'convictionVoting.vote', { poll_index, vote }, [
      ['convictionVoting.Voted', who, vote, poll_index],
    ]);
  }

  #delegate(book: DayBook): void {
    const random = this.#random;
    const delegator = this.#cast.at(DELEGATES + random.whole(0, VOTERS));
    const target = this.#cast.at(random.whole(0, DELEGATES - 1));
    const conviction = random.pick(CONVICTIONS);
    const balance = planckOf(50 + 9000 * random.fraction() ** 3, book.chain.decimals);
    const written = conviction === 0 ? 'None' : `Locked${conviction}x`;
    for (const { id } of TRACKS.slice(random.pick([4, 6]))) {
      this.#delegations.set(`${id}/${delegator}`, { target, conviction, balance });
      const args = {
        class: String(id),
        to: { id: book.printed(target) },
        conviction: written,
        balance: balance.toString(),
      };
      book.signs(delegator, 'convictionVoting.delegate', args, [
        ['convictionVoting.Delegated', book.printed(delegator), book.printed(target)],
      ]);
    }
  }

  #undelegate(book: DayBook): void {
    const [place] = this.#delegations.keys();
    if (place === undefined) return;
    this.#delegations.delete(place);
    const [track, delegator] = place.split('/') as [string, DemoKey];
    book.signs(delegator, 'convictionVoting.undelegate', { class: track }, []);
  }

  #tally({ votes, track }: DemoReferendum): object {
    let [ayes, nays, support] = [0n, 0n, 0n];
    for (const [voter, vote] of votes) {
      const followers = [...this.#delegations]
        .filter(([place, { target }]) => target === voter && place.startsWith(`${track.id}/`))
        .map(([, delegation]) => delegation);
      for (const { conviction, balance } of [vote, ...followers]) {
        const weighed = conviction === 0 ? balance / 10n : balance * BigInt(conviction);
        if (vote.aye) [ayes, support] = [ayes + weighed, support + balance];
        else nays += weighed;
      }
    }
    return { ayes: ayes.toString(), nays: nays.toString(), support: support.toString() };
  }

  #voter(): DemoKey {
    return this.#cast.anyone(VOTERS);
  }
}
