import type { Random } from '../../../../ingest/demo/random.ts';
import type { InputLine } from '../../../reference/input.ts';
import type { ShapedEvent, ShapedExtrinsic } from '../../../reference/shaped.ts';
import {
  ACCOUNTS,
  confirmed,
  delegate,
  PROPOSAL,
  removeVote,
  snapshotLine,
  standard,
  submitted,
  tally,
  undelegate,
  vote,
  Writer,
} from './story.ts';

const REFERENDA = [1, 2, 3, 4, 5, 6, 7];
const TRACKS = [0, 1, 2];
const BLOCKS = 80;
const START = Date.parse('2024-01-10T00:00:00Z');

/** Votes, delegations, ends and snapshots of some weeks on two chains of a relay, in no sensible order. */
export function randomVotes(random: Random): InputLine[] {
  const heights = new Map([
    ['polkadot', 1],
    ['asset-hub-polkadot', 1],
  ]);
  return Array.from({ length: BLOCKS }, (_, index): InputLine[] => {
    // Some blocks of the two chains have one time.
    const time = new Date(START + Math.floor(index / random.whole(1, 2)) * 9 * 3_600_000).toISOString();
    if (random.chance(0.06)) return [snapshotOf(random, time)];
    const chain = random.pick([...heights.keys()]);
    const height = heights.get(chain) as number;
    heights.set(chain, height + 1);
    const lines = [blockOf(random, chain, height, time)];
    // Another version of the block: other votes, sometimes of another day.
    const later = new Date(Date.parse(time) + random.pick([0, 30 * 3_600_000])).toISOString();
    if (random.chance(0.15)) lines.push(blockOf(random, chain, height, later));
    return lines;
  }).flat();
}

function blockOf(random: Random, chain: string, height: number, time: string): InputLine {
  const writer = new Writer(chain, height);
  const extrinsics = Array.from({ length: random.whole(0, 3) }, () => extrinsicOf(random));
  writer.block(time, { extrinsics, opening: random.chance(0.3) ? [eventOf(random)] : [] });
  return writer.lines[0] as InputLine;
}

function extrinsicOf(random: Random): ShapedExtrinsic {
  const who = random.pick(ACCOUNTS);
  const referendum = random.pick(REFERENDA);
  const balance = String(random.whole(1, 999));
  const events = random.chance(0.15) ? [eventOf(random)] : [];
  switch (random.whole(1, 8)) {
    case 1:
      return { ...removeVote(who, referendum), events };
    case 2:
    case 3:
      return delegate(
        who,
        random.pick(TRACKS),
        random.pick(ACCOUNTS),
        `Locked${random.whole(1, 6)}x`,
        balance,
      );
    case 4:
      return { ...undelegate(who, random.pick(TRACKS)), events };
    case 5:
      return vote(who, referendum, { splitAbstain: { aye: balance, nay: '0', abstain: '7' } }, events);
    default:
      return vote(who, referendum, standard(random.chance(0.5), random.whole(0, 6), balance), events);
  }
}

function eventOf(random: Random): ShapedEvent {
  const referendum = random.pick(REFERENDA);
  const track = random.pick(TRACKS);
  if (random.chance(0.5)) return submitted(referendum, track);
  if (random.chance(0.3)) return confirmed(referendum);
  return ['referenda.DecisionStarted', String(referendum), String(track), PROPOSAL, tally('1', '1', '1')];
}

function snapshotOf(random: Random, time: string): InputLine {
  const delegations = ACCOUNTS.filter(() => random.chance(0.5)).map((delegator) => ({
    delegator,
    target: random.pick(ACCOUNTS),
    track: random.pick(TRACKS),
    conviction: random.whole(0, 6),
    balance: String(random.pick([10, 20])),
  }));
  return snapshotLine('delegations', time, { delegations });
}
