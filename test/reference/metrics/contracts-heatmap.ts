import { dayOf } from '../calendar.ts';
import { isNamed } from '../calls.ts';
import { contractCallsOf, contractSuccess, knownContracts } from '../contracts.ts';
import type { Block, Extrinsic } from '../facts.ts';
import type { Input } from '../input.ts';
import { total } from '../numbers.ts';
import { chainGroups } from '../rows.ts';

export type ContractsHeatmap = { relay_chain: string; chain: string; date: string; count: number | null };

const CREATING = ['instantiate', 'instantiateWithCode', 'ethInstantiateWithCode'];

export function contractsDeployedHeatmap(input: Input): ContractsHeatmap[] {
  return heatmap(input, (block) =>
    block.extrinsics.some((extrinsic) => isSilent(block, extrinsic))
      ? null
      : block.events.filter((event) => isNamed(event, 'revive', 'Instantiated')).length,
  );
}

/** Whether more was instantiated than the runtime tells. */
function isSilent(block: Block, extrinsic: Extrinsic): boolean {
  if (contractSuccess(block, extrinsic) !== true) return false;
  const { call, ethereum, executed, everyEvent } = extrinsic;
  return ['revive', 'contracts'].some((pallet) => {
    const isCreation =
      pallet === 'revive' && isNamed(call, 'revive', 'ethTransact') && ethereum?.receiver === null;
    const ran = executed.filter((one) => isNamed(one, pallet, ...CREATING)).length + (isCreation ? 1 : 0);
    return ran > everyEvent.filter((event) => isNamed(event, pallet, 'Instantiated')).length;
  });
}

export function contractCallsHeatmap(input: Input): ContractsHeatmap[] {
  return heatmap(input, (block) => {
    const known = knownContracts(input, block.chain.name);
    const calls = block.extrinsics
      .filter(({ executed }) => executed.length > 0)
      .flatMap((extrinsic) =>
        contractCallsOf(block, extrinsic).filter(
          ({ method, to }) =>
            method === 'call' || (contractSuccess(block, extrinsic) === true && to !== null && known.has(to)),
        ),
      );
    return calls.length;
  });
}

/** Counts of asset hubs by day; 0 only where the day is whole, and null where the blocks do not tell. */
function heatmap(input: Input, countOf: (block: Block) => number | null): ContractsHeatmap[] {
  return chainGroups(input.blocks, dayOf)
    .filter(({ relay, parts }) => relay !== 'westend' && parts[0]?.chain.role === 'asset-hub')
    .map(({ relay, chain, period: date, blocks }) => {
      const counts = blocks.map(countOf);
      const known = counts.filter((count) => count !== null);
      return { relay_chain: relay, chain, date, count: known.length < counts.length ? null : total(known) };
    })
    .filter(({ chain, date, count }) => count !== 0 || isWhole(input, chain, date));
}

function isWhole(input: Input, chain: string, date: string): boolean {
  const blocks = input.blocks
    .filter((block) => block.chain.name === chain)
    .toSorted((a, b) => a.height - b.height);
  const isOfDay = ({ time }: Block) => time !== null && dayOf(time) === date;
  return blocks.every((block, index) => {
    const next = blocks[index + 1];
    const isGap = next !== undefined && next.height > block.height + 1;
    return !isGap || (!isOfDay(block) && !isOfDay(next));
  });
}
