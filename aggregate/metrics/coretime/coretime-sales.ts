import { raw, sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import { fieldSql } from '../../../ingest/raw/views/event-facts.ts';
import { count, name, timestamp } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { chainDay } from '../activity/chain-day.ts';
import { amountColumns, amounts, sumColumns } from '../shared/native-amounts.ts';
import { regionBegin } from './coretime-filters.ts';
import { brokerEvent } from './folds/broker-event.ts';
import {
  brokerEvents,
  type CoretimeConfig,
  type CoretimeFact,
  configsIn,
  coretimeConfigs,
  factsFrom,
  orderByTime,
} from './folds/coretime-facts.ts';
import { TIMESLICE_BLOCKS } from './folds/coretime-regions.ts';
import { SALE_EVENTS, type Sale, salesOf, totalPrice } from './folds/coretime-sales.ts';

const saleField = (field: 'region_begin' | 'region_end') =>
  raw(fieldSql('broker.SaleInitialized', field, 'data'));

export const coretimeSale = metric({
  record: 'CoretimeSale',
  title: 'Coretime sales',
  domain: 'coretime',
  doc: 'Prices, capacity and burn of each sale of bulk coretime. The first timeslice identifies a sale; a timeslice is 80 relay blocks. A purchase or renewal belongs to the sale with the same first timeslice.',
  columns: {
    relay_chain: name('relay chain whose cores are sold', { title: 'Relay chain' }),
    chain: name('coretime chain', { title: 'Chain' }),
    region_begin: count('first timeslice on sale, which identifies the sale', {
      title: 'First timeslice',
      unit: 'identifier',
    }),
    region_end: count('end of the sale: the timeslice after the last one on sale', {
      title: 'End timeslice',
      unit: 'identifier',
    }),
    sale_cycle: count('rank of `region_begin` among all stored sales of the relay chain, from 1', {
      title: 'Sale cycle',
      unit: 'identifier',
    }),
    sale_start: count('first block of the sale, in the unit of `sale_start_unit`', {
      title: 'First block of the sale',
      unit: 'height',
    }),
    leadin_length: count(
      'length of the lead-in, over which the price falls, in blocks of `sale_start_unit`',
      {
        title: 'Blocks of the lead-in',
        overTime: 'none',
        overChains: 'none',
      },
    ),
    sale_start_unit: name(
      '`relay_blocks`, or `local_blocks` of the coretime chain as in older runtimes: the one whose block number is nearer to `sale_start`',
      { title: 'Unit of the first block' },
    ),
    ...amountColumns('start_price', 'price of a core when the sale starts', {
      title: 'Start price',
      overTime: 'mean',
    }),
    ...amountColumns('end_price', 'price of a core after the lead-in', {
      title: 'End price',
      overTime: 'mean',
    }),
    ideal_cores_sold: count('target number of sold cores, from which the next price is derived', {
      title: 'Ideal cores sold',
    }),
    cores_offered: count('cores offered', { title: 'Cores offered' }),
    first_core: count(
      'first core sold, from the newest `coretime_config` snapshot of the sale; null without one',
      { title: 'First core', unit: 'identifier', nullable: true },
    ),
    cores_sold: count(
      'cores sold, from the same snapshot; without one, the number of purchases of the sale',
      {
        title: 'Cores sold',
      },
    ),
    ...amountColumns(
      'sellout_price',
      'price at which the cores sold out, from the same snapshot; null without one',
      {
        title: 'Sell-out price',
        overTime: 'mean',
        nullable: true,
      },
    ),
    ...sumColumns('total_burn', 'sum of the prices of all purchases and renewals of the sale', {
      title: 'Burn',
    }),
    sale_init_block: count('block of the coretime chain that opened the sale', {
      title: 'Block of the opening',
      unit: 'height',
    }),
    sale_init_at: timestamp('time of `sale_init_block`', { title: 'Opened' }),
    region_begin_at: timestamp('time of relay block `region_begin` * 80; null when it is not stored', {
      title: 'Start of the regions',
      nullable: true,
    }),
    region_end_at: timestamp('time of relay block `region_end` * 80; null when it is not stored', {
      title: 'End of the regions',
      nullable: true,
    }),
  },
  key: ['relay_chain', 'region_begin'],
  materialized: 'whole',
  select: (window) => {
    const ends = sql`SELECT relay_chain, relay_chain AS chain,
          toUInt64OrZero(arrayJoin([${saleField('region_begin')}, ${saleField('region_end')}])) * ${TIMESLICE_BLOCKS} AS height
        FROM ${brokerEvent.table} WHERE ${ofRelays(window)} AND kind = 'SaleInitialized'`;
    // Heights rise with time, so each height is in the range of one day.
    const months = sql`SELECT toString(toYYYYMM(date)) FROM ${chainDay.table} WHERE ${ofRelays(window)}
          AND chain = relay_chain AND arrayExists(height -> height BETWEEN first_block AND last_block, heights)`;
    return orderByTime(
      brokerEvents(window, SALE_EVENTS),
      coretimeConfigs(window),
      factsFrom(
        'relay block',
        sql`relay_chain, chain, assumeNotNull(blocks.time) AS time, number, CAST([], 'Array(String)') AS data`,
        // The time index would make the engine read adjacent granules in each part.
        sql`(WITH (SELECT groupUniqArray(height) FROM (${ends})) AS heights
          SELECT relay_chain, chain, number, time FROM ${blocks} FINAL
          WHERE ${ofRelays(window)} AND (_partition_id = 'all' OR _partition_id IN (${months}))
            AND (relay_chain, chain, number) IN (${ends}) AND isNotNull(time)
          SETTINGS ignore_data_skipping_indices = 'by_time') AS blocks`,
      ),
    );
  },
  version: 2,
  fold: (facts: readonly CoretimeFact[], { relay_chain }) => {
    const relayBlocks = new Map(
      facts.filter(({ kind }) => kind === 'relay block').map(({ number, time }) => [number, time]),
    );
    const timeOf = (timeslice: number) => relayBlocks.get(timeslice * TIMESLICE_BLOCKS) ?? null;
    const configs = new Map(configsIn(facts).map((config) => [config.sale_info.region_begin, config]));
    return salesOf(facts).map((sale) => ({
      relay_chain,
      ...saleRow(sale, configs.get(sale.initialization.event.region_begin)?.sale_info),
      region_begin_at: timeOf(sale.initialization.event.region_begin),
      region_end_at: timeOf(sale.initialization.event.region_end),
    }));
  },
  endpoints: [
    {
      path: '/api/coretime-sales',
      summary: 'Prices, capacity and burn of each sale of bulk coretime',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      dates: { column: 'sale_init_at', required: false },
      filters: { region_begin: regionBegin },
    },
  ],
});

function saleRow(sale: Sale, config: CoretimeConfig['sale_info'] | undefined): Record<string, unknown> {
  const { event, chain, decimals, number, time } = sale.initialization;
  const sellout = config?.sellout_price ?? null;
  return {
    chain,
    region_begin: event.region_begin,
    region_end: event.region_end,
    sale_cycle: sale.cycle,
    sale_start: event.sale_start,
    leadin_length: event.leadin_length,
    sale_start_unit: startUnit(sale),
    ...amounts('start_price', event.start_price, decimals),
    ...amounts('end_price', event.end_price, decimals),
    ideal_cores_sold: event.ideal_cores_sold,
    cores_offered: event.cores_offered,
    first_core: config?.first_core ?? null,
    cores_sold: config?.cores_sold ?? sale.purchases.length,
    ...amounts('sellout_price', sellout === null ? null : BigInt(sellout), decimals),
    ...amounts('total_burn', totalPrice([...sale.purchases, ...sale.renewals]), decimals),
    sale_init_block: number,
    sale_init_at: time,
  };
}

/** A sale starts soon after its initialization, and its regions begin soon after that, so the nearer unit is right. */
function startUnit({ initialization: { event, number } }: Sale): string {
  const fromLocal = Math.abs(event.sale_start - number);
  const fromRelay = Math.abs(event.sale_start - event.region_begin * TIMESLICE_BLOCKS);
  return fromLocal < fromRelay ? 'local_blocks' : 'relay_blocks';
}
