import type { BrokerEventKind, BrokerEventOf, RegionId } from '../../../../ingest/decode/broker.ts';
import { type CoretimeFact, type Happened, happenedIn } from './coretime-facts.ts';

/** What the life of a region is folded from. */
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
export type RegionStatus = (typeof REGION_STATUSES)[number];

export interface Region {
  readonly id: RegionId;
  readonly end: number;
  /** Key of the account; null when it belongs to nobody here, or to whom no event said. */
  readonly owner: string | null;
  readonly task: number | null;
  readonly status: RegionStatus;
  readonly paid: bigint | null;
  readonly parent: RegionId | null;
  readonly created_block: number | null;
  /** The last event of its life. */
  readonly last: Pick<Happened, 'chain' | 'prefix' | 'decimals' | 'time'>;
}

type Regions = Map<string, Region>;
const keyOf = ({ begin, core, mask }: RegionId) => `${begin}/${core}/${mask}`;
const isSame = (a: RegionId, b: RegionId) => keyOf(a) === keyOf(b);

/** Every region that was ever heard of, as its last event left it; `expired` is a matter of the clock, not of events. */
export function regionsOf(facts: readonly CoretimeFact[]): Region[] {
  const regions: Regions = new Map();
  for (const happened of happenedIn(facts)) apply(regions, happened as Happened<RegionEventKind>);
  return [...regions.values()];
}

function apply(regions: Regions, happened: Happened<RegionEventKind>): void {
  const { event } = happened;
  switch (event.kind) {
    case 'Purchased':
      put(regions, {
        ...created(event.region, event.duration, happened),
        owner: event.who,
        paid: event.price,
        created_block: happened.number,
      });
      break;
    case 'Partitioned':
    case 'Interlaced':
      split(regions, event, happened);
      break;
    default: {
      const known = regions.get(keyOf(event.region));
      // Without a duration nothing tells where a region ends that was never heard of.
      const region = known ?? ('duration' in event ? created(event.region, event.duration, happened) : null);
      if (region !== null) put(regions, { ...region, ...changeBy(event), last: happened });
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
 * The parts take over what the region was, except that nothing was paid for them alone. One that keeps the
 * region's own id, as the first half of a partition does, goes on as the same region.
 */
function split(
  regions: Regions,
  event: BrokerEventOf<'Partitioned' | 'Interlaced'>,
  happened: Happened,
): void {
  const old = regions.get(keyOf(event.region));
  if (old === undefined) return;
  const [first, second] = event.parts;
  const ends = event.kind === 'Partitioned' ? [second.begin, old.end] : [old.end, old.end];
  if (!event.parts.some((part) => isSame(part, old.id))) {
    const status = event.kind === 'Partitioned' ? 'partitioned' : 'interlaced';
    put(regions, { ...old, status, last: happened });
  }
  for (const [i, id] of [first, second].entries()) {
    const origin = isSame(id, old.id)
      ? { parent: old.parent, created_block: old.created_block }
      : { parent: old.id, created_block: happened.number };
    // Where events are missing a part may seem to begin after the end of what it is a part of.
    const end = Math.max(id.begin, ends[i] as number);
    put(regions, { ...old, ...origin, id, end, status: 'owned', task: null, paid: null, last: happened });
  }
}

function created(id: RegionId, duration: number, last: Happened): Region {
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

/** Relay blocks that a timeslice lasts. */
export const TIMESLICE_BLOCKS = 80;

/** A region is over with its last timeslice, by the newest block of the relay chain and by no clock. */
export function statusAt(region: Region, newestRelayBlock: number | null): RegionStatus {
  const isOver = newestRelayBlock !== null && newestRelayBlock >= region.end * TIMESLICE_BLOCKS;
  const isAlive = region.status === 'owned' || region.status === 'assigned' || region.status === 'pooled';
  return isOver && isAlive ? 'expired' : region.status;
}

/** How many of the 80 parts of a core a mask holds. */
export const bitsOf = (mask: string): number =>
  [...BigInt(mask).toString(2)].filter((bit) => bit === '1').length;
