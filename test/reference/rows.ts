import type { AccountKey } from './accounts.ts';
import { paddedAccount } from './derived.ts';
import type { Block, Extrinsic } from './facts.ts';
import { type Chain, ECOSYSTEM_RELAYS } from './registry.ts';

export const ECOSYSTEM = 'ecosystem';

export type TimedBlock = Block & { readonly time: number };

/** What one chain contributes to a row. */
export type Part = { readonly chain: Chain; readonly blocks: readonly TimedBlock[] };

/** The blocks behind one row: those of one chain in one day or month, or of all chains of a relay. */
export type Group = {
  readonly relay: string;
  /** The name in the row, which is that of a chain or `ecosystem`. */
  readonly chain: string;
  readonly isEcosystem: boolean;
  /** The day, or the last day of the month. */
  readonly period: string;
  readonly parts: readonly Part[];
  /** Of all parts, each by height. */
  readonly blocks: readonly TimedBlock[];
};

/** Blocks without a time belong to no day, month or window. */
export function timedBlocks(blocks: readonly Block[]): readonly TimedBlock[] {
  return blocks.filter((block): block is TimedBlock => block.time !== null);
}

/** The blocks of each chain, by height. */
export function blocksByChain(blocks: readonly Block[]): readonly (readonly TimedBlock[])[] {
  return [...Map.groupBy(timedBlocks(blocks), (block) => block.chain).values()];
}

/** One group for every chain and period with a timed block, in the order of the rows. */
export function chainGroups(blocks: readonly Block[], periodOf: (time: number) => string): readonly Group[] {
  const groups = blocksByChain(blocks).flatMap((ofChain) =>
    [...Map.groupBy(ofChain, (block) => periodOf(block.time))].flatMap(([period, ofPeriod]) =>
      chainGroup(period, ofPeriod),
    ),
  );
  return sortGroups(groups);
}

/** The groups of single chains and, for every relay and period with one, the group of the whole relay. */
export function allGroups(blocks: readonly Block[], periodOf: (time: number) => string): readonly Group[] {
  const chains = chainGroups(blocks, periodOf);
  const added = chains.filter(({ relay }) => ECOSYSTEM_RELAYS.includes(relay));
  const byRow = Map.groupBy(added, ({ relay, period }) => `${relay} ${period}`);
  return sortGroups([...chains, ...[...byRow.values()].flatMap(ecosystemGroup)]);
}

/** What somebody authorised: extrinsics with a signature, of the Ethereum kind, and general ones. */
export function transactionsOf(block: Block): readonly Extrinsic[] {
  return block.extrinsics.filter(({ isSigned, isEvm, isGeneral }) => isSigned || isEvm || isGeneral);
}

/**
 * An account as distinct counts see it. On asset hubs an address of Ethereum is the account that pallet-revive
 * gives to it; on other chains both stay apart.
 */
export function memberOf(key: AccountKey | null, chain: Chain): AccountKey | null {
  const isAddress = key !== null && key.length === 42;
  return isAddress && chain.role === 'asset-hub' ? paddedAccount(key) : key;
}

/** Compares part by part, text by code units and numbers by size. */
export function compareKeys(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  if (at < 0) return 0;
  return (a[at] ?? 0) < (b[at] ?? 0) ? -1 : 1;
}

/** Members without repetition; unknown ones left out. */
export function distinct<T>(values: readonly (T | null)[]): Set<T> {
  return new Set(values.filter((value) => value !== null));
}

function chainGroup(period: string, blocks: readonly TimedBlock[]): readonly Group[] {
  return blocks.slice(0, 1).map(({ chain }) => ({
    relay: chain.relay,
    chain: chain.name,
    isEcosystem: false,
    period,
    parts: [{ chain, blocks }],
    blocks,
  }));
}

function ecosystemGroup(groups: readonly Group[]): readonly Group[] {
  const parts = groups.flatMap((group) => group.parts);
  const blocks = parts.flatMap((part) => part.blocks);
  return groups
    .slice(0, 1)
    .map(({ relay, period }) => ({ relay, chain: ECOSYSTEM, isEcosystem: true, period, parts, blocks }));
}

function sortGroups(groups: readonly Group[]): readonly Group[] {
  return groups.toSorted((a, b) => compareKeys([a.period, a.relay, a.chain], [b.period, b.relay, b.chain]));
}
