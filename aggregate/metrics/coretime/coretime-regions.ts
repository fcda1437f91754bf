import { z } from 'zod';
import { sql } from '../../../infra/sql.ts';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import type { RegionId } from '../../../ingest/decode/broker.ts';
import { count, name, nested, text, timestamp } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { amountColumns, amounts } from '../shared/native-amounts.ts';
import { accountFilter, core, mask, regionBegin } from './coretime-filters.ts';
import type { CoretimeFact } from './folds/coretime-facts.ts';
import {
  bitsOf,
  REGION_EVENTS,
  REGION_STATUSES,
  type Region,
  regionsOf,
  statusAt,
} from './folds/coretime-regions.ts';
import { factsWithNewestBlocks } from './folds/newest-block-facts.ts';

/** The type and schema of a region in the columns of records. */
export const REGION_TYPE = 'Tuple(region_begin UInt32, r_core UInt32, r_mask String)';
export const regionSchema = z.object({
  region_begin: z.int().min(0),
  r_core: z.int().min(0),
  r_mask: z.string(),
});
export const namedRegion = (id: RegionId): z.output<typeof regionSchema> => ({
  region_begin: id.begin,
  r_core: id.core,
  r_mask: id.mask,
});

const NO_REGION_TYPE =
  'Tuple(region_begin Nullable(UInt32), r_core Nullable(UInt32), r_mask Nullable(String))';

export const coretimeRegion = metric({
  record: 'CoretimeRegion',
  title: 'Coretime regions',
  domain: 'coretime',
  doc: 'Current state of each region of bulk coretime. A region is a span of timeslices on a core; its owner can split it by time (partition) or by parts of the core (interlace). Renewals create no region.',
  columns: {
    relay_chain: name('relay chain of the core', { title: 'Relay chain' }),
    chain: name('coretime chain', { title: 'Chain' }),
    region_begin: count('first timeslice', { title: 'First timeslice', unit: 'identifier' }),
    r_core: count('index of the core', { title: 'Core', unit: 'identifier' }),
    r_mask: text('parts of the core in the region: a mask of 80 bits, as hex', { title: 'Mask' }),
    region_end: count('end of the region: the timeslice after its last one', {
      title: 'End timeslice',
      unit: 'identifier',
    }),
    duration: count('`region_end` - `region_begin`, in timeslices', { title: 'Timeslices' }),
    owner: text('account that owns it; null when it has no owner, or when no stored event names one', {
      title: 'Owner',
      nullable: true,
    }),
    assigned_task: count('task that it is assigned to; null when it is not assigned', {
      title: 'Task',
      unit: 'identifier',
      nullable: true,
    }),
    status: name(
      'state of the region. A `partitioned` or `interlaced` region continues as its parts. An owned, assigned or pooled region is `expired` from relay block `region_end` * 80 on, by the newest stored block',
      { title: 'Status', values: REGION_STATUSES },
    ),
    ...amountColumns(
      'paid',
      'purchase price; null for a part of a split region, and when no stored event has the price',
      {
        title: 'Price paid',
        nullable: true,
      },
    ),
    mask_bits: count('number of parts of the core in the region, at most 80', {
      title: 'Parts of the core',
      overTime: 'none',
      overChains: 'none',
    }),
    parent_region: nested(
      regionSchema,
      // Some versions of ClickHouse cannot write a null structure to Parquet, but all can write null fields.
      {
        type: `Variant(${REGION_TYPE})`,
        columnar: (name) => `JSONExtract(ifNull(${name}, '{}'), '${NO_REGION_TYPE}')`,
      },
      'region that it was split from; null for a purchased region. In Parquet and Arrow its fields are null instead',
      { title: 'Split from', nullable: true },
    ),
    created_block: count('block of the coretime chain that created it; null when that block is not stored', {
      title: 'Block of its creation',
      unit: 'height',
      nullable: true,
    }),
    updated_at: timestamp('time of its last event', { title: 'Last event' }),
  },
  internal: { owner_key: 'String' },
  key: ['relay_chain', 'region_begin', 'r_core', 'r_mask'],
  materialized: 'whole',
  select: (window) => factsWithNewestBlocks(window, REGION_EVENTS),
  version: 2,
  fold: (facts: readonly CoretimeFact[], { relay_chain }) => {
    const newest = facts.find(({ kind }) => kind === 'timeslice')?.number ?? null;
    return regionsOf(facts).map((region) => ({ relay_chain, ...regionRow(region, newest) }));
  },
  endpoints: [
    {
      path: '/api/coretime-regions',
      summary: 'Regions of bulk coretime with owner, task and status',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      isLimited: true,
      filters: {
        region_begin: regionBegin,
        r_core: { schema: core, condition: (index: number) => sql`r_core = ${index}` },
        r_mask: { schema: mask, condition: (bits: string) => sql`r_mask = ${bits}` },
        owner: accountFilter(sql`owner_key`, 'account that owns it'),
      },
    },
  ],
});

function regionRow(region: Region, newestRelayBlock: number | null): Record<string, unknown> {
  const { id, end, owner, parent, last } = region;
  return {
    ...namedRegion(id),
    chain: last.chain,
    region_end: end,
    duration: end - id.begin,
    owner: owner === null ? null : encodeAddress(owner, last.prefix),
    owner_key: owner ?? '',
    assigned_task: region.task,
    status: statusAt(region, newestRelayBlock),
    ...amounts('paid', region.paid, last.decimals),
    mask_bits: bitsOf(id.mask),
    parent_region: parent === null ? null : JSON.stringify(namedRegion(parent)),
    created_block: region.created_block,
    updated_at: last.time,
  };
}
