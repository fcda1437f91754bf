import type { Random } from '../../ingest/demo/random.ts';
import type { Chain } from '../reference/registry.ts';
import type { ShapedEvent } from '../reference/shaped.ts';
import { type Key, multiAddress, PEOPLE, printed } from './accounts.ts';
import { type Action, amountOf, hashOf, type Maker } from './actions.ts';

type Side = { readonly aye: bigint; readonly nay: bigint; readonly abstain: bigint };
type ModelVote =
  | { readonly aye: boolean; readonly conviction: number; readonly balance: bigint }
  | { readonly parts: Side };
type Referendum = {
  readonly index: number;
  readonly track: number;
  readonly votes: Map<Key, ModelVote>;
  stage: 'preparing' | 'deciding' | 'confirming' | 'ended';
};
type Terms = { readonly target: Key; readonly conviction: number; readonly balance: bigint };

const TRACKS = [0, 11, 30, 33, 77] as const;
const ORIGINS = [
  { system: 'Root' },
  { system: { root: null } },
  { origins: 'SmallTipper' },
  { origins: { bigSpender: null } },
];

/** How much a runtime tells of a vote: nothing, who and what, or also on which referendum. */
export type VoteEra = 'silent' | 'unplaced' | 'placed';

/** One governance, wherever it lives: referenda from submission to end, votes of all kinds, delegations. */
export class GovernanceModel {
  readonly #random: Random;
  readonly #referenda: Referendum[] = [];
  /** Referenda that have ended, of which the pallet tells something more. */
  readonly #over: number[] = [];
  readonly #delegations = new Map<number, Map<Key, Terms>>();
  /** The tallies with which referenda ended, for checks. */
  readonly tallies = new Map<number, { ayes: bigint; nays: bigint; support: bigint }>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** What somebody may do now. */
  action(chain: Chain, era: VoteEra): Maker {
    const random = this.#random;
    const ongoing = this.#referenda.filter(({ stage }) => stage !== 'ended');
    const roll = random.fraction();
    if (ongoing.length === 0 || roll < 0.12) return this.#submit();
    const referendum = random.pick(random.chance(0.06) ? this.#referenda : ongoing);
    if (roll < 0.65) return this.#vote(chain, era, referendum);
    if (roll < 0.75) return this.#remove(chain, referendum);
    if (roll < 0.93) return this.#delegate(chain);
    return this.#undelegate();
  }

  /** What the pallet does by itself at the beginning of a block, or the scheduler makes it do. */
  progress(chain: Chain, era: VoteEra): readonly ShapedEvent[] {
    // What follows an end comes on whichever chain is next.
    return [...this.#over.splice(0).map(afterEnd), ...this.#step(chain, era)];
  }

  #step(chain: Chain, era: VoteEra): readonly ShapedEvent[] {
    const random = this.#random;
    if (random.chance(0.1)) return this.#submit()(PEOPLE[0] as Key).perform();
    if (random.chance(0.1) && this.#referenda.length > 0) {
      const referendum = random.pick(this.#referenda);
      // Nobody can tell which referendum it was, so such a vote is lost.
      if (era === 'placed') return this.#vote(chain, era, referendum)(random.pick(PEOPLE)).perform();
      if (era === 'unplaced') {
        const vote = { standard: { vote: '0x81', balance: '5' } };
        return [['convictionVoting.Voted', printed(random, random.pick(PEOPLE), chain), vote]];
      }
    }
    const ongoing = this.#referenda.filter(({ stage }) => stage !== 'ended');
    if (ongoing.length === 0) return [];
    const one = random.pick(ongoing);
    const index = String(one.index);
    const tally = () => this.#tallyEvent(one);
    switch (one.stage) {
      case 'preparing': {
        if (random.chance(0.15)) return this.#end(one, random.pick(['TimedOut', 'Killed', 'Cancelled']));
        one.stage = 'deciding';
        const deposit = amountOf(random, BigInt(random.whole(1, 9)) * 10n ** 11n);
        return [
          ['referenda.DecisionDepositPlaced', index, printed(random, random.pick(PEOPLE), chain), deposit],
          ['referenda.DecisionStarted', index, String(one.track), { inline: '0x0001' }, tally()],
        ];
      }
      case 'deciding':
        if (random.chance(0.3)) return this.#end(one, random.pick(['Rejected', 'Cancelled', 'Killed']));
        one.stage = 'confirming';
        return [['referenda.ConfirmStarted', index]];
      default:
        if (random.chance(0.3)) {
          one.stage = 'deciding';
          return [['referenda.ConfirmAborted', index]];
        }
        return [...this.#end(one, 'Confirmed'), ['referenda.Approved', index]];
    }
  }

  /** The delegations as the state of the chain lists them. */
  state(chain: Chain): object {
    const delegations = [...this.#delegations].flatMap(([track, byDelegator]) =>
      [...byDelegator].map(([delegator, { target, conviction, balance }]) => ({
        delegator: printed(this.#random, delegator, chain),
        target: printed(this.#random, target, chain),
        track,
        conviction,
        balance: balance.toString(),
      })),
    );
    return { delegations };
  }

  /** Somebody delegates without any block that tells of it. */
  delegateUnseen(): void {
    const [delegator, target] = [this.#random.pick(PEOPLE), this.#random.pick(PEOPLE)];
    this.#tracked(this.#random.pick(TRACKS)).set(delegator, { target, conviction: 1, balance: 777n });
  }

  #submit(): Maker {
    const random = this.#random;
    const track = random.pick(TRACKS);
    const proposal = random.pick([
      { inline: '0x00006d' },
      { lookup: { hash: hashOf(random), len: '13' } },
      { lookup: { hash_: hashOf(random), len: '13' } },
      { legacy: { hash: hashOf(random) } },
    ]);
    const proposal_origin = random.chance(0.8) ? random.pick(ORIGINS) : { ambassador: 'Head' };
    return () => ({
      call: 'referenda.submit',
      args: { proposal_origin, proposal, enactment_moment: { after: '100' } },
      perform: () => {
        const index = this.#referenda.length;
        this.#referenda.push({ index, track, votes: new Map(), stage: 'preparing' });
        return [['referenda.Submitted', String(index), String(track), proposal]];
      },
    });
  }

  #vote(chain: Chain, era: VoteEra, referendum: Referendum): Maker {
    const { vote, written } = this.#anyVote();
    const poll_index = String(referendum.index);
    return (actor) => ({
      call: 'convictionVoting.vote',
      args: { poll_index, vote: written },
      perform: () => {
        if (referendum.stage !== 'ended') referendum.votes.set(actor, vote);
        if (era === 'silent') return [];
        const who = printed(this.#random, actor, chain);
        return [['convictionVoting.Voted', who, written, ...(era === 'placed' ? [poll_index] : [])]];
      },
    });
  }

  #anyVote(): { vote: ModelVote; written: object } {
    const random = this.#random;
    const money = () =>
      random.chance(0.1) ? 0n : BigInt(random.whole(1, 10 ** 9)) * BigInt(random.whole(1, 10 ** 5));
    const [aye, nay, abstain] = [money(), money(), money()];
    const spelled = (planck: bigint) => amountOf(random, planck);
    if (random.chance(0.15)) {
      const written = { split: { aye: spelled(aye), nay: spelled(nay) } };
      return { vote: { parts: { aye, nay, abstain: 0n } }, written };
    }
    if (random.chance(0.15)) {
      const written = { splitAbstain: { aye: spelled(aye), nay: spelled(nay), abstain: spelled(abstain) } };
      return { vote: { parts: { aye, nay, abstain } }, written };
    }
    const side = { aye: random.chance(0.6), conviction: random.whole(0, 6) };
    const balance = aye + 1n;
    const byte = (side.aye ? 0x80 : 0) + side.conviction;
    const vote = random.chance(0.85)
      ? `0x${byte.toString(16).padStart(2, '0')}`
      : { aye: side.aye, conviction: convictionName(side.conviction) };
    return { vote: { ...side, balance }, written: { standard: { vote, balance: spelled(balance) } } };
  }

  #remove(chain: Chain, referendum: Referendum): Maker {
    const index = String(referendum.index);
    const forget = (voter: Key): readonly ShapedEvent[] => {
      if (referendum.stage !== 'ended') referendum.votes.delete(voter);
      return [];
    };
    const voters = [...referendum.votes.keys()];
    const other = voters.length > 0 ? this.#random.pick(voters) : this.#random.pick(PEOPLE);
    if (this.#random.chance(0.5)) {
      const target = multiAddress(this.#random, other, chain);
      return () => ({
        call: 'convictionVoting.removeOtherVote',
        args: { target, class: String(referendum.track), index },
        perform: () => forget(other),
      });
    }
    const track = this.#random.chance(0.5) ? null : String(referendum.track);
    return (actor) => ({
      call: 'convictionVoting.removeVote',
      args: { class: track, index },
      perform: () => forget(actor),
    });
  }

  #delegate(chain: Chain): Maker {
    const random = this.#random;
    const track = random.pick(TRACKS);
    const voters = this.#referenda
      .filter((one) => one.track === track)
      .flatMap(({ votes }) => [...votes.keys()]);
    const target = voters.length > 0 && random.chance(0.7) ? random.pick(voters) : random.pick(PEOPLE);
    const conviction = random.whole(0, 6);
    const balance = BigInt(random.whole(1, 10 ** 9)) * 1001n;
    const name = convictionName(conviction);
    const written = random.chance(0.7) ? name : { [name.charAt(0).toLowerCase() + name.slice(1)]: null };
    return (actor): Action => ({
      call: 'convictionVoting.delegate',
      args: {
        class: String(track),
        to: multiAddress(random, target, chain),
        conviction: written,
        balance: amountOf(random, balance),
      },
      perform: () => {
        this.#tracked(track).set(actor, { target, conviction, balance });
        return [
          ['convictionVoting.Delegated', printed(random, actor, chain), printed(random, target, chain)],
        ];
      },
    });
  }

  #undelegate(): Maker {
    const track = this.#random.pick(TRACKS);
    return (actor) => ({
      call: 'convictionVoting.undelegate',
      args: { class: String(track) },
      perform: () => {
        this.#tracked(track).delete(actor);
        return [];
      },
    });
  }

  #tracked(track: number): Map<Key, Terms> {
    const known = this.#delegations.get(track) ?? new Map<Key, Terms>();
    this.#delegations.set(track, known);
    return known;
  }

  #end(one: Referendum, how: string): readonly ShapedEvent[] {
    const tally = this.#tallyEvent(one);
    one.stage = 'ended';
    this.#over.push(one.index);
    this.tallies.set(one.index, this.#tally(one));
    return [[`referenda.${how}`, String(one.index), tally]];
  }

  #tallyEvent(one: Referendum): object {
    const { ayes, nays, support } = this.#tally(one);
    return { ayes: ayes.toString(), nays: nays.toString(), support: support.toString() };
  }

  #tally({ track, votes }: Referendum): { ayes: bigint; nays: bigint; support: bigint } {
    let [ayes, nays, support] = [0n, 0n, 0n];
    for (const [voter, vote] of votes) {
      if ('parts' in vote) {
        ayes += vote.parts.aye / 10n;
        nays += vote.parts.nay / 10n;
        support += vote.parts.aye + vote.parts.abstain;
        continue;
      }
      const followers = [...this.#tracked(track).values()].filter(({ target }) => target === voter);
      for (const { conviction, balance } of [vote, ...followers]) {
        const weighed = conviction === 0 ? balance / 10n : balance * BigInt(conviction);
        if (vote.aye) [ayes, support] = [ayes + weighed, support + balance];
        else nays += weighed;
      }
    }
    return { ayes, nays, support };
  }
}

const convictionName = (conviction: number) => (conviction === 0 ? 'None' : `Locked${conviction}x`);

const afterEnd = (referendum: number): ShapedEvent =>
  referendum % 2 === 0
    ? ['referenda.MetadataSet', String(referendum), `0x${'00'.repeat(32)}`]
    : ['referenda.SubmissionDepositRefunded', String(referendum), PEOPLE[0], '5'];
