import { dayOf, isoOf } from '../calendar.ts';
import type { Input } from '../input.ts';
import { feesOf, nativeAmount } from '../money.ts';
import { quotient, total } from '../numbers.ts';
import { allGroups, type Group, type TimedBlock, transactionsOf } from '../rows.ts';

const DAY_SECONDS = 86_400n;
const MINUTE_SECONDS = 60n;
const MINUTE_MS = 60_000;

export type DailyTps = {
  relay_chain: string;
  chain: string;
  date: string;
  num_transactions_combined: number;
  transactions_per_second: number;
  num_transactions_signed: number;
  evm_num_transactions: number;
  max_transactions_per_second: number;
  max_tps_at: string | null;
  num_blocks: number;
  avg_block_time_seconds: number | null;
  num_extrinsics: number;
  fees: number | null;
};

export function dailyTps(input: Input): DailyTps[] {
  return allGroups(input.blocks, dayOf).map((group) => {
    const extrinsics = group.blocks.flatMap((block) => block.extrinsics);
    const transactions = group.blocks.flatMap(transactionsOf);
    const busiest = busiestMinute(group.blocks);
    return {
      relay_chain: group.relay,
      chain: group.chain,
      date: group.period,
      num_transactions_combined: transactions.length,
      transactions_per_second: quotient(BigInt(transactions.length), DAY_SECONDS),
      num_transactions_signed: extrinsics.filter(({ isSigned }) => isSigned).length,
      evm_num_transactions: extrinsics.filter(({ isEvm }) => isEvm).length,
      max_transactions_per_second: quotient(BigInt(busiest?.count ?? 0), MINUTE_SECONDS),
      max_tps_at: busiest && isoOf(busiest.start),
      num_blocks: group.blocks.length,
      avg_block_time_seconds: averageBlockTime(group),
      num_extrinsics: extrinsics.length,
      fees: nativeAmount(group, feesOf),
    };
  });
}

/** The earliest minute with the most transactions; null without any. */
function busiestMinute(blocks: readonly TimedBlock[]): { start: number; count: number } | null {
  const minutes = Map.groupBy(blocks, ({ time }) => Math.floor(time / MINUTE_MS) * MINUTE_MS);
  return [...minutes]
    .map(([start, ofMinute]) => ({
      start,
      count: total(ofMinute.map((block) => transactionsOf(block).length)),
    }))
    .filter(({ count }) => count > 0)
    .reduce<{ start: number; count: number } | null>((best, minute) => {
      const isBusier = best === null || minute.count > best.count;
      return isBusier || (minute.count === best.count && minute.start < best.start) ? minute : best;
    }, null);
}

function averageBlockTime(group: Group): number | null {
  if (group.isEcosystem || group.blocks.length < 2) return null;
  const times = group.blocks.map(({ time }) => time);
  const span = BigInt(Math.max(...times) - Math.min(...times));
  return quotient(span, 1000n * BigInt(times.length - 1));
}
