import type { DemoEvent } from './blocks.ts';
import { type Cast, type DemoKey, hexOf } from './cast.ts';
import { type DayBook, planckOf } from './day-book.ts';
import type { Random } from './random.ts';
import { type DemoDelegation, type DemoVote, tallyOf } from './tally.ts';

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
/** How many of 100 referenda have each outcome. */
const OUTCOMES: readonly (readonly [Outcome, number])[] = [
  ['Confirmed', 62],
  ['Rejected', 25],
  ['TimedOut', 6],
  ['Cancelled', 5],
  ['Killed', 2],
];
const WEIGHTED_OUTCOMES = OUTCOMES.flatMap(([outcome, often]) => Array<Outcome>(often).fill(outcome));

interface DemoReferendum {
  readonly index: number;
  readonly track: Track;
  readonly submittedOn: number;
  readonly proposal: object;
  readonly outcome: Outcome;
  /** Share of aye votes. */
  readonly favour: number;
  readonly votes: Map<DemoKey, DemoVote>;
  stage: 'preparing' | 'deciding' | 'confirming' | 'ended' | 'forgotten';
}

const VOTERS = 140;
const DELEGATES = 6;
const CONVICTIONS = [0, 1, 1, 1, 2, 2, 3, 4, 5, 6] as const;

/** Referenda per week, and votes on each per day. */
export interface GovernancePace {
  readonly referenda: number;
  readonly votes: number;
}

/** OpenGov of one relay chain: referenda from submission to their end, votes and delegations. */
export class Governance {
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #pace: GovernancePace;
  readonly #referenda: DemoReferendum[] = [];
  readonly #delegations = new Map<string, DemoDelegation>();
  #next: number;

  constructor(random: Random, cast: Cast, first: number, pace: GovernancePace) {
    this.#random = random;
    this.#cast = cast;
    this.#next = first;
    this.#pace = pace;
  }

  write(book: DayBook): void {
    const random = this.#random;
    for (const referendum of this.#referenda) this.#advance(book, referendum);
    const expected = (this.#pace.referenda / 7) * book.passed;
    const submitted = Math.floor(expected) + (random.chance(expected % 1) ? 1 : 0);
    for (let made = 0; made < submitted; made++) this.#submit(book);
    for (const referendum of this.#referenda) {
      if (referendum.stage === 'ended' || referendum.stage === 'forgotten') continue;
      // Most votes come at the beginning, so that the first tally is not empty.
      const eager = referendum.stage === 'preparing' ? 5 : book.day - referendum.submittedOn < 4 ? 1.8 : 0.7;
      const votes = Math.round(this.#pace.votes * eager * random.fraction() * 2 * book.passed);
      for (let made = 0; made < votes; made++) this.#vote(book, referendum);
    }
    if (random.chance(0.35 * book.passed)) this.#delegate(book);
    if (random.chance(0.05)) this.#undelegate(book);
  }

  /** The payload of a `delegations` snapshot. */
  state(print: (key: DemoKey) => string): object {
    const delegations = [...this.#delegations.values()].map(
      ({ delegator, target, track, conviction, balance }) => ({
        ...{ delegator: print(delegator), target: print(target) },
        ...{ track, conviction, balance: balance.toString() },
      }),
    );
    return { delegations };
  }

  #submit(book: DayBook): void {
    const random = this.#random;
    const track = random.pick([...TRACKS, ...TRACKS.slice(4)]);
    const proposal = random.chance(0.1)
      ? { inline: '0x00006d' }
      : { lookup: { hash: hexOf(random, 32), len: String(random.whole(40, 900)) } };
    const outcome = random.pick(WEIGHTED_OUTCOMES);
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
    book.sign(this.#voter(), 'referenda.submit', args, [event]);
  }

  /** Moves a referendum to its next stage when its period has ended. */
  #advance(book: DayBook, referendum: DemoReferendum): void {
    const [prepare, decide, confirm] = referendum.track.days;
    const age = book.day - referendum.submittedOn;
    switch (referendum.stage) {
      case 'preparing':
        // A referendum without a decision deposit times out.
        if (referendum.outcome === 'TimedOut' && age >= 14) this.#end(book, referendum);
        if (referendum.outcome !== 'TimedOut' && age >= prepare) this.#decide(book, referendum);
        break;
      case 'deciding': {
        const due = referendum.outcome === 'Rejected' ? decide : decide / 2;
        if (referendum.outcome !== 'Confirmed' && age >= due) this.#end(book, referendum);
        if (referendum.outcome === 'Confirmed' && age >= prepare + decide - confirm) {
          referendum.stage = 'confirming';
          book.emit(['referenda.ConfirmStarted', String(referendum.index)]);
        }
        break;
      }
      case 'confirming':
        if (this.#random.chance(0.08)) {
          referendum.stage = 'deciding';
          book.emit(['referenda.ConfirmAborted', String(referendum.index)]);
        } else if (age >= prepare + decide) this.#end(book, referendum);
        break;
      case 'ended':
        referendum.stage = 'forgotten';
        book.emit(this.#afterEnd(book, referendum));
    }
  }

  #decide(book: DayBook, referendum: DemoReferendum): void {
    const { index, track, proposal } = referendum;
    referendum.stage = 'deciding';
    const payer = this.#voter();
    const deposit = book.planck(track.deposit);
    const placed: DemoEvent = [
      'referenda.DecisionDepositPlaced',
      ...[String(index), book.addressOf(payer), deposit],
    ];
    book.sign(payer, 'referenda.placeDecisionDeposit', { index: String(index) }, [placed]);
    const numbers = [index, track.id].map(String);
    book.emit(['referenda.DecisionStarted', ...numbers, proposal, this.#tally(referendum)]);
  }

  #end(book: DayBook, referendum: DemoReferendum): void {
    const index = String(referendum.index);
    book.emit([`referenda.${referendum.outcome}`, index, this.#tally(referendum)]);
    if (referendum.outcome === 'Confirmed') book.emit(['referenda.Approved', index]);
    referendum.stage = 'ended';
  }

  #afterEnd(book: DayBook, { index, track }: DemoReferendum): DemoEvent {
    if (index % 2 === 0) return ['referenda.MetadataSet', String(index), hexOf(this.#random, 32)];
    const deposit = book.planck(track.deposit);
    return ['referenda.SubmissionDepositRefunded', String(index), book.addressOf(this.#voter()), deposit];
  }

  #vote(book: DayBook, referendum: DemoReferendum): void {
    const random = this.#random;
    const voter = this.#voter();
    const poll_index = String(referendum.index);
    const [old] = [...referendum.votes.keys()].slice(random.whole(0, 3));
    if (old !== undefined && random.chance(0.05)) {
      this.#remove(book, referendum, old);
      return;
    }
    const { vote, written } = this.#anyVote(book, referendum.favour);
    referendum.votes.set(voter, vote);
    book.sign(voter, 'convictionVoting.vote', { poll_index, vote: written }, [
      ['convictionVoting.Voted', book.addressOf(voter), written, poll_index],
    ]);
  }

  #remove(book: DayBook, { votes, index, track }: DemoReferendum, voter: DemoKey): void {
    const place = { class: String(track.id), index: String(index) };
    votes.delete(voter);
    if (this.#random.chance(0.3)) {
      const args = { target: { id: book.addressOf(voter) }, ...place };
      book.sign(this.#voter(), 'convictionVoting.removeOtherVote', args, []);
    } else book.sign(voter, 'convictionVoting.removeVote', place, []);
  }

  #anyVote(book: DayBook, favour: number): { vote: DemoVote; written: object } {
    const random = this.#random;
    const money = () => planckOf(20 + 40_000 * random.fraction() ** 5, book.chain.decimals);
    const [aye, nay, abstain] = [money(), money(), money()];
    const written = (amounts: object) =>
      Object.fromEntries(Object.entries(amounts).map(([side, amount]) => [side, String(amount)]));
    const roll = random.fraction();
    if (roll < 0.06) {
      const parts = { aye: 0n, nay: 0n, abstain };
      return { vote: { parts }, written: { splitAbstain: written(parts) } };
    }
    if (roll < 0.1) {
      const parts = { aye, nay, abstain: 0n };
      return { vote: { parts }, written: { split: written({ aye, nay }) } };
    }
    const isAye = random.chance(favour);
    const conviction = random.pick(CONVICTIONS);
    const byte = (isAye ? 0x80 : 0) + conviction;
    const vote = `0x${byte.toString(16).padStart(2, '0')}`;
    return {
      vote: { aye: isAye, conviction, balance: aye },
      written: { standard: { vote, balance: aye.toString() } },
    };
  }

  #delegate(book: DayBook): void {
    const random = this.#random;
    const delegator = this.#cast.at(DELEGATES + random.whole(0, VOTERS));
    const target = this.#cast.at(random.whole(0, DELEGATES - 1));
    const conviction = random.pick(CONVICTIONS);
    const balance = planckOf(50 + 9000 * random.fraction() ** 3, book.chain.decimals);
    const name = conviction === 0 ? 'None' : `Locked${conviction}x`;
    const [who, to] = [book.addressOf(delegator), book.addressOf(target)];
    for (const { id } of TRACKS.slice(random.pick([4, 6]))) {
      this.#delegations.set(`${id}/${delegator}`, { delegator, target, track: id, conviction, balance });
      const args = { class: String(id), to: { id: to }, conviction: name, balance: balance.toString() };
      book.sign(delegator, 'convictionVoting.delegate', args, [['convictionVoting.Delegated', who, to]]);
    }
  }

  #undelegate(book: DayBook): void {
    const [first] = this.#delegations;
    if (first === undefined) return;
    const [place, { track, delegator }] = first;
    this.#delegations.delete(place);
    book.sign(delegator, 'convictionVoting.undelegate', { class: String(track) }, []);
  }

  #tally({ votes, track }: DemoReferendum): object {
    const delegations = [...this.#delegations.values()].filter((delegation) => delegation.track === track.id);
    return tallyOf(votes, delegations);
  }

  #voter(): DemoKey {
    return this.#cast.randomKey(VOTERS);
  }
}
