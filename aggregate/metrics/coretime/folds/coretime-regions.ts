import type { BrokerEventKind, BrokerEventOf, RegionId } from '../../../../ingest/decode/broker.ts';
import {
  type CoretimeFact,
  type DecodedBrokerEvent,
  decodeBrokerEvents,
  sortByBlock,
} from './coretime-facts.ts';

export const REGION_EVENTS = [
  'Purchased',
  'Transferred',
  'Partitioned',
  'Interlaced',
  'Assigned',
  'Pooled',
  'AssignmentRemoved',
  'RegionUnpooled',
  'RegionDropped',
] as const satisfies BrokerEventKind[];
type RegionEventKind = (typeof REGION_EVENTS)[number];
type Changing = Exclude<RegionEventKind, 'Purchased' | 'Partitioned' | 'Interlaced'>;

export const REGION_STATUSES = [
  'owned',
  'assigned',
  'pooled',
  'partitioned',
  'interlaced',
  'dropped',
  'expired',
] as const;
type RegionStatus = (typeof REGION_STATUSES)[number];

export interface Region {
  readonly id: RegionId;
  readonly end: number;
  /** Key of the account; null when the region has no owner on this chain, or no event named the owner. */
  readonly owner: string | null;
  readonly task: number | null;
  readonly status: RegionStatus;
  readonly paid: bigint | null;
  readonly parent: RegionId | null;
  readonly created_block: number | null;
  /** The last event of the region. */
  readonly last: Pick<DecodedBrokerEvent, 'chain' | 'prefix' | 'decimals' | 'time'>;
}

type Regions = Map<string, Region>;
const keyOf = ({ begin, core, mask }: RegionId) => `${begin}/${core}/${mask}`;
const isSame = (a: RegionId, b: RegionId) => keyOf(a) === keyOf(b);

/** Every region in an event, in the state after its last event. No event sets `expired`: see `statusAt`. */
export function regionsOf(facts: readonly CoretimeFact[]): Region[] {
  const regions: Regions = new Map();
  for (const occurrence of sortByBlock(decodeBrokerEvents(facts)))
    apply(regions, occurrence as DecodedBrokerEvent<RegionEventKind>);
  return [...regions.values()];
}

function apply(regions: Regions, occurrence: DecodedBrokerEvent<RegionEventKind>): void {
  const { event } = occurrence;
  switch (event.kind) {
    case 'Purchased':
      put(regions, {
        ...created(event.region, event.duration, occurrence),
        owner: event.who,
        paid: event.price,
        created_block: occurrence.number,
      });
      break;
    case 'Partitioned':
    case 'Interlaced':
      split(regions, event, occurrence);
      break;
    default: {
      const existing = regions.get(keyOf(event.region));
      // Only an event with a duration gives the end of an unknown region.
      const region =
        existing ?? ('duration' in event ? created(event.region, event.duration, occurrence) : null);
      if (region !== null) put(regions, { ...region, ...changeBy(event), last: occurrence });
    }
  }
}

function changeBy(event: BrokerEventOf<Changing>): Partial<Region> {
  switch (event.kind) {
    case 'Transferred':
      return { owner: event.owner };
    case 'Assigned':
      return { status: 'assigned', task: event.task };
    case 'Pooled':
      return { status: 'pooled' };
    case 'AssignmentRemoved':
    case 'RegionUnpooled':
      return { status: 'owned', task: null };
    case 'RegionDropped':
      return { status: 'dropped' };
  }
}

/**
 * Parts inherit the fields of the region, except the price. A part with the id of the region, such as the first half of
 * a partition, is the same region.
 */
function split(
  regions: Regions,
  event: BrokerEventOf<'Partitioned' | 'Interlaced'>,
  occurrence: DecodedBrokerEvent,
): void {
  const region = regions.get(keyOf(event.region));
  if (region === undefined) return;
  const [first, second] = event.parts;
  const ends = event.kind === 'Partitioned' ? [second.begin, region.end] : [region.end, region.end];
  if (!event.parts.some((part) => isSame(part, region.id))) {
    const status = event.kind === 'Partitioned' ? 'partitioned' : 'interlaced';
    put(regions, { ...region, status, last: occurrence });
  }
  for (const [i, id] of [first, second].entries()) {
    const origin = isSame(id, region.id)
      ? { parent: region.parent, created_block: region.created_block }
      : { parent: region.id, created_block: occurrence.number };
    // If events are missing, a part can begin after the end of its region.
    const end = Math.max(id.begin, ends[i] as number);
    put(regions, {
      ...region,
      ...origin,
      id,
      end,
      status: 'owned',
      task: null,
      paid: null,
      last: occurrence,
    });
  }
}

function created(id: RegionId, duration: number, last: DecodedBrokerEvent): Region {
  return {
    id,
    end: id.begin + duration,
    owner: null,
    task: null,
    status: 'owned',
    paid: null,
    parent: null,
    created_block: null,
    last,
  };
}

function put(regions: Regions, region: Region): void {
  regions.set(keyOf(region.id), region);
}

/** Relay blocks of one timeslice. */
export const TIMESLICE_BLOCKS = 80;

/** A region expires with its last timeslice, by the newest relay block and not by a clock. */
export function statusAt(region: Region, newestRelayBlock: number | null): RegionStatus {
  const hasEnded = newestRelayBlock !== null && newestRelayBlock >= region.end * TIMESLICE_BLOCKS;
  const isActive = region.status === 'owned' || region.status === 'assigned' || region.status === 'pooled';
  return hasEnded && isActive ? 'expired' : region.status;
}

/** The number of parts of a core in a mask, at most 80. */
export const bitsOf = (mask: string): number =>
  [...BigInt(mask).toString(2)].filter((bit) => bit === '1').length;
