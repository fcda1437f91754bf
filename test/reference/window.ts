import { DAY_MS } from './calendar.ts';
import type { Block } from './facts.ts';
import type { Chain } from './registry.ts';
import { blocksByChain, compareKeys, type TimedBlock } from './rows.ts';

/** What a chain did in the 24 hours that end with the newest time it has. */
export type Window = {
  readonly chain: Chain;
  readonly end: number;
  /** The greatest height of the chain, also of a block without a time. */
  readonly latestHeight: number;
  /** By height. */
  readonly blocks: readonly TimedBlock[];
};

/** One window for every chain with a timed block, by relay chain and chain. */
export function windows(blocks: readonly Block[]): readonly Window[] {
  return blocksByChain(blocks)
    .flatMap((ofChain) =>
      ofChain.slice(0, 1).map(({ chain }) => windowOf(chain, ofChain, greatestHeight(chain, blocks))),
    )
    .toSorted(({ chain: a }, { chain: b }) => compareKeys([a.relay, a.name], [b.relay, b.name]));
}

const greatestHeight = (chain: Chain, blocks: readonly Block[]): number =>
  Math.max(...blocks.flatMap((block) => (block.chain === chain ? [block.height] : [])));

function windowOf(chain: Chain, blocks: readonly TimedBlock[], latestHeight: number): Window {
  const end = Math.max(...blocks.map(({ time }) => time));
  return {
    chain,
    end,
    latestHeight,
    blocks: blocks.filter(({ time }) => time > end - DAY_MS),
  };
}
