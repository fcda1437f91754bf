import { parseAccount, printAccount } from '../accounts.ts';
import { isoOf } from '../calendar.ts';
import {
  brokerEvents,
  coretimeChain,
  coretimeRelays,
  type Emitted,
  type RegionId,
  regionAt,
  regionsAt,
  whole,
} from '../coretime.ts';
import type { Input } from '../input.ts';
import { amountFields } from '../money.ts';
import { type Region, regionsOf } from '../regions.ts';
import type { Chain } from '../registry.ts';
import { compareKeys, timedBlocks } from '../rows.ts';

const RELAYS = ['polkadot', 'kusama', 'solo'];
const BLOCKS_OF_TIMESLICE = 80;

type Named = { region_begin: number; r_core: number; r_mask: string };
const named = ({ begin, core, mask }: RegionId): Named => ({
  region_begin: begin,
  r_core: core,
  r_mask: mask,
});

export type CoretimeRegion = Named & {
  relay_chain: string;
  region_end: number;
  duration: number;
  owner: string | null;
  assigned_task: number | null;
  status: Region['status'] | 'expired';
  paid: number | null;
  paid_planck: string | null;
  mask_bits: number;
  parent_region: Named | null;
  created_block: number | null;
  updated_at: string;
};

export function coretimeRegions(input: Input): CoretimeRegion[] {
  return coretimeRelays(RELAYS).flatMap((relay) => {
    const chain = coretimeChain(relay) as Chain;
    const heights = timedBlocks(input.blocks)
      .filter((block) => block.chain.name === relay)
      .map(({ height }) => height);
    const newest = Math.max(-1, ...heights);
    return regionsOf(brokerEvents(input, relay))
      .map((region) => ({
        relay_chain: relay,
        ...named(region),
        region_end: region.end,
        duration: region.end - region.begin,
        owner: region.owner && printAccount(region.owner, chain),
        assigned_task: region.task,
        status: isOver(region, newest) ? ('expired' as const) : region.status,
        ...amountFields('paid', region.paid, chain),
        mask_bits: bitsOf(region.mask),
        parent_region: region.parent && named(region.parent),
        created_block: region.createdBlock,
        updated_at: isoOf(region.updatedAt),
      }))
      .toSorted((a, b) =>
        compareKeys([a.region_begin, a.r_core, a.r_mask], [b.region_begin, b.r_core, b.r_mask]),
      );
  });
}

function isOver({ status, end }: Region, newest: number): boolean {
  return ['owned', 'assigned', 'pooled'].includes(status) && newest >= end * BLOCKS_OF_TIMESLICE;
}

function bitsOf(mask: string): number {
  return BigInt(mask).toString(2).replaceAll('0', '').length;
}

export type CoretimeRegionEvent = Named & {
  relay_chain: string;
  event_type: 'Transfer' | 'Partition' | 'Interlace' | 'Assign';
  duration: number | null;
  old_owner: string | null;
  owner: string | null;
  new_regions: readonly Named[];
  task: number | null;
  block_number: number;
  event_index: number;
  extrinsic_id: string | null;
  timestamp: string;
};

/** The newest first. */
export function coretimeRegionEvents(input: Input): CoretimeRegionEvent[] {
  return coretimeRelays(RELAYS)
    .flatMap((relay) => brokerEvents(input, relay).flatMap((emitted) => rowOfEvent(relay, emitted)))
    .sort((a, b) => compareKeys(placeOf(b), placeOf(a)));
}

/** The life of one region, or of all regions on its core from that timeslice, the oldest first. */
export function coretimeRegionHistory(
  input: Input,
  { region_begin, r_core, r_mask }: { region_begin: number; r_core: number; r_mask?: string },
): CoretimeRegionEvent[] {
  const isMeant = (one: Named) =>
    one.region_begin === region_begin &&
    one.r_core === r_core &&
    (r_mask === undefined || one.r_mask === r_mask);
  return coretimeRegionEvents(input)
    .filter((row) => isMeant(row) || row.new_regions.some(isMeant))
    .toReversed();
}

const placeOf = (row: CoretimeRegionEvent) => [
  row.timestamp,
  row.relay_chain,
  row.block_number,
  row.event_index,
];

const TYPES: Readonly<Record<string, CoretimeRegionEvent['event_type']>> = {
  Transferred: 'Transfer',
  Partitioned: 'Partition',
  Interlaced: 'Interlace',
  Assigned: 'Assign',
};

function rowOfEvent(
  relay: string,
  { chain, block, event, extrinsicId }: Emitted,
): readonly CoretimeRegionEvent[] {
  const event_type = TYPES[event.method];
  if (!event_type) return [];
  const { data } = event;
  const isTransfer = event_type === 'Transfer';
  const isDivision = event_type === 'Partition' || event_type === 'Interlace';
  const print = (position: number) => {
    const key = isTransfer ? parseAccount(data[position]) : null;
    return key && printAccount(key, chain);
  };
  return [
    {
      relay_chain: relay,
      event_type,
      ...named(regionAt(data[0])),
      duration: isDivision ? null : whole(data[1]),
      old_owner: print(2),
      owner: print(3),
      new_regions: isDivision ? regionsAt(data[1]).map(named) : [],
      task: event_type === 'Assign' ? whole(data[2]) : null,
      block_number: block.height,
      event_index: event.index,
      extrinsic_id: extrinsicId,
      timestamp: isoOf(block.time),
    },
  ];
}
