import { type ListPage, type ListRow, type ListSection, rowsOf, sourceOf } from './list-page.ts';

const region = [
  { name: 'region_begin', label: 'Begins', hint: 'First timeslice' },
  { name: 'r_core', label: 'Core' },
  { name: 'r_mask', label: 'Mask', hint: '20 hex digits' },
] as const;

/** The list of purchases includes renewals. */
const boughtBy = rowsOf('/coretime/purchases', 'who', 'who');
const ownedBy = rowsOf('/coretime/regions', 'owner', 'owner');

const ON_CORETIME_CHAIN = 'The blocks of a coretime chain fill this list.';

export const sales: ListPage = {
  path: '/coretime',
  tab: 'Sales',
  title: 'Coretime sales',
  lead: 'Sales of bulk coretime with prices, capacity and burned amount; newest first, Polkadot before Kusama. A sale sells cores for one period; the first timeslice of the period identifies the sale.',
  source: sourceOf('/api/coretime-sales'),
  order: 'desc',
  filters: [{ name: 'region_begin', label: 'Begins', hint: 'First timeslice' }],
  columns: [
    { column: 'sale_cycle', to: salePath },
    { column: 'relay_chain' },
    { column: 'sale_init_at' },
    { column: 'start_price' },
    { column: 'end_price' },
    { column: 'sellout_price' },
    { column: 'cores_offered' },
    { column: 'cores_sold' },
    { column: 'total_burn' },
    { column: 'region_begin', to: salePath },
    { column: 'region_end' },
  ],
  empty: `No sale of coretime is stored yet. ${ON_CORETIME_CHAIN}`,
};

export const purchases: ListPage = {
  path: '/coretime/purchases',
  tab: 'Purchases',
  title: 'Purchases and renewals',
  lead: 'All payments for bulk coretime: regions bought in a sale, and renewals. Newest first, Polkadot before Kusama.',
  source: sourceOf('/api/coretime-purchases'),
  order: 'desc',
  filters: [
    { name: 'purchase_type', label: 'Kind' },
    { name: 'who', label: 'Account', hint: 'SS58 with any prefix', isLong: true },
    { name: 'region_begin', label: 'Begins', hint: 'First timeslice' },
  ],
  columns: [
    { column: 'timestamp', title: 'Time' },
    { column: 'purchase_type', as: 'state' },
    { column: 'who', as: 'account', to: boughtBy },
    { column: 'price' },
    { column: 'price_usd' },
    { column: 'region_begin', to: boughtPath },
    { column: 'core' },
    { column: 'duration' },
    { column: 'relay_chain' },
    { column: 'block_number' },
  ],
  empty: `No purchase of coretime is stored yet. ${ON_CORETIME_CHAIN}`,
};

export const renewals: ListPage = {
  path: '/coretime/renewals',
  tab: 'Renewals',
  title: 'Renewals',
  lead: 'Workloads that continue in the next period, on the same core or another. Newest first, Polkadot before Kusama.',
  source: sourceOf('/api/coretime-renewals'),
  order: 'desc',
  filters: [
    { name: 'who', label: 'Account', hint: 'SS58 with any prefix', isLong: true },
    { name: 'region_begin', label: 'Begins', hint: 'First timeslice' },
  ],
  columns: [
    { column: 'timestamp', title: 'Time' },
    { column: 'who', as: 'account', to: boughtBy },
    { column: 'price' },
    { column: 'price_usd' },
    { column: 'task' },
    { column: 'old_core' },
    { column: 'core' },
    { column: 'auto_renewal' },
    { column: 'region_begin', to: salePath },
    { column: 'relay_chain' },
  ],
  empty: `No renewal of coretime is stored yet. ${ON_CORETIME_CHAIN}`,
};

export const regions: ListPage = {
  path: '/coretime/regions',
  tab: 'Regions',
  title: 'Regions',
  lead: 'Regions of bulk coretime, with their current owner and task.',
  source: sourceOf('/api/coretime-regions'),
  order: 'desc',
  filters: [...region, { name: 'owner', label: 'Owner', hint: 'SS58 with any prefix', isLong: true }],
  columns: [
    { column: 'region_begin', to: regionPath },
    { column: 'r_core', to: regionPath },
    { column: 'r_mask', as: 'hash' },
    { column: 'status', as: 'state' },
    { column: 'owner', as: 'account', to: ownedBy },
    { column: 'assigned_task' },
    { column: 'paid' },
    { column: 'duration' },
    { column: 'updated_at' },
    { column: 'relay_chain' },
  ],
  empty: `No region is stored yet. ${ON_CORETIME_CHAIN}`,
};

export const regionEvents: ListPage = {
  path: '/coretime/region-events',
  tab: 'Region events',
  title: 'Region events',
  lead: 'Events of regions: transfers, partitions, interlacings and assignments. Newest first.',
  source: sourceOf('/api/coretime-region-events'),
  filters: [{ name: 'event_type', label: 'Event' }, ...region],
  columns: [
    { column: 'timestamp', title: 'Time' },
    { column: 'event_type', as: 'state' },
    { column: 'region_begin', to: regionPath },
    { column: 'r_core', to: regionPath },
    { column: 'r_mask', as: 'hash' },
    { column: 'owner', as: 'account', title: 'New owner', to: ownedBy },
    { column: 'task' },
    { column: 'duration' },
    { column: 'relay_chain' },
    { column: 'block_number' },
  ],
  empty: `No region event is stored yet. ${ON_CORETIME_CHAIN}`,
};

export const revenue: ListPage = {
  path: '/coretime/revenue',
  tab: 'Revenue',
  title: 'Revenue of coretime',
  lead: 'Total spending of each account on bulk coretime; the largest of a relay chain first. All of it is burned.',
  source: sourceOf('/api/coretime-account-spend'),
  filters: [{ name: 'who', label: 'Account', hint: 'SS58 with any prefix', isLong: true }],
  columns: [
    { column: 'who', as: 'account', to: boughtBy },
    { column: 'total_spend' },
    { column: 'bulk_spend' },
    { column: 'renewal_spend' },
    { column: 'bulk_count' },
    { column: 'renewal_count' },
    { column: 'first_purchase_at' },
    { column: 'last_purchase_at' },
    { column: 'relay_chain' },
  ],
  empty: `No payment for coretime is stored yet. ${ON_CORETIME_CHAIN}`,
};

/** Total burned amount by relay chain. */
export const totalBurn = sourceOf('/api/coretime-total-burn');

export const coretime: ListSection = {
  name: 'Coretime',
  pages: [sales, purchases, renewals, regions, regionEvents, revenue],
};

export function salePath({ relay_chain, region_begin }: ListRow): string {
  return `/coretime/sales/${relay_chain}/${region_begin}`;
}

export function regionPath({ relay_chain, region_begin, r_core, r_mask }: ListRow): string {
  return `/coretime/regions/${relay_chain}/${region_begin}/${r_core}/${r_mask}`;
}

/** Links a purchase to its region, and a renewal to its sale. */
function boughtPath(row: ListRow): string {
  return row.mask === null ? salePath(row) : regionPath({ ...row, r_core: row.core, r_mask: row.mask });
}
