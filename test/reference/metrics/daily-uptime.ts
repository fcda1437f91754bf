import { addDays, dayOf, isWithinDays } from '../calendar.ts';
import type { Block } from '../facts.ts';
import type { Input } from '../input.ts';
import { quotient } from '../numbers.ts';
import type { Chain } from '../registry.ts';
import { blocksByChain, compareKeys, type TimedBlock } from '../rows.ts';

const LONGEST_ON_TIME_MS = 60_000;
const PARACHAINS_SPED_UP = '2025-01-01';

export type DailyUptime = {
  relay_chain: string;
  chain: string;
  date: string;
  target_block_time: number;
  uptime_1day: number | null;
  uptime_7days: number | null;
  uptime_30days: number | null;
  blocks_1day: number;
  deviations_1day: number;
  blocks_7days: number;
  deviations_7days: number;
  blocks_30days: number;
  deviations_30days: number;
  max_gap_seconds: number | null;
};

/** The time from a block to its child, counted on the day of the child. */
type Gap = { readonly date: string; readonly milliseconds: number };

export function dailyUptime(input: Input): DailyUptime[] {
  return blocksByChain(input.blocks)
    .flatMap(rowsOfChain)
    .sort((a, b) => compareKeys([a.date, a.relay_chain, a.chain], [b.date, b.relay_chain, b.chain]));
}

function rowsOfChain(blocks: readonly TimedBlock[]): DailyUptime[] {
  const [first] = blocks;
  if (!first) return [];
  const { chain } = first;
  const gaps = gapsOf(blocks);
  const daysWithBlocks = new Set(blocks.map(({ time }) => dayOf(time)));
  const emptyDays = provenEmptyDays(blocks);
  return [...daysWithBlocks, ...emptyDays].map((date) => {
    const uptime = (days: number) => count(gaps, days, date);
    const [day, week, month] = [uptime(1), uptime(7), uptime(30)];
    const ofDay = gaps.filter((gap) => gap.date === date).map(({ milliseconds }) => milliseconds);
    return {
      relay_chain: chain.relay,
      chain: chain.name,
      date,
      target_block_time: targetBlockTime(chain, date),
      // A day proven to be without any block is downtime, not missing data.
      uptime_1day: emptyDays.includes(date) ? 0 : day.ratio,
      uptime_7days: week.ratio,
      uptime_30days: month.ratio,
      blocks_1day: day.evaluated,
      deviations_1day: day.deviations,
      blocks_7days: week.evaluated,
      deviations_7days: week.deviations,
      blocks_30days: month.evaluated,
      deviations_30days: month.deviations,
      max_gap_seconds: ofDay.length === 0 ? null : quotient(BigInt(Math.max(...ofDay)), 1000n),
    };
  });
}

/** Only a block whose very parent is stored with a time can be judged; others are unknown, not late. */
function gapsOf(blocks: readonly TimedBlock[]): readonly Gap[] {
  const byHeight = new Map(blocks.map((block) => [block.height, block]));
  return blocks.flatMap((block) => {
    const parent = byHeight.get(block.height - 1);
    return parent && isParent(parent, block)
      ? [{ date: dayOf(block.time), milliseconds: block.time - parent.time }]
      : [];
  });
}

function isParent(parent: Block, child: Block): boolean {
  return parent.height + 1 === child.height && parent.hash === child.parentHash;
}

/** Whole days between a block and its own child: the chain stood still, nothing is missing. */
function provenEmptyDays(blocks: readonly TimedBlock[]): readonly string[] {
  const byTime = blocks.toSorted((a, b) => compareKeys([a.time, a.height], [b.time, b.height]));
  return byTime.flatMap((child, index) => {
    const parent = byTime[index - 1];
    if (!parent || !isParent(parent, child)) return [];
    const days: string[] = [];
    const last = dayOf(child.time);
    for (let day = addDays(dayOf(parent.time), 1); day < last; day = addDays(day, 1)) days.push(day);
    return days;
  });
}

function count(gaps: readonly Gap[], days: number, date: string) {
  const evaluated = gaps.filter((gap) => isWithinDays(gap.date, days, date));
  const onTime = evaluated.filter(({ milliseconds }) => milliseconds <= LONGEST_ON_TIME_MS).length;
  return {
    evaluated: evaluated.length,
    deviations: evaluated.length - onTime,
    ratio: evaluated.length === 0 ? null : quotient(BigInt(onTime), BigInt(evaluated.length)),
  };
}

function targetBlockTime(chain: Chain, date: string): number {
  const isOwnClock = chain.role === 'relay' || chain.role === 'solo';
  return isOwnClock || date >= PARACHAINS_SPED_UP ? 6 : 12;
}
