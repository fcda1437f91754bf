import { count, flag, name, real } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { dividedDown } from '../shared/amounts.ts';
import { amountColumns, amounts, sumColumns } from '../shared/native-amounts.ts';
import { regionBegin } from './coretime-filters.ts';
import { brokerEvents, type CoretimeFact, orderByTime } from './folds/coretime-facts.ts';
import { SALE_EVENTS, type Sale, salesOf, totalPrice } from './folds/coretime-sales.ts';

export const coretimeSaleMetrics = metric({
  record: 'CoretimeSaleMetrics',
  title: 'Coretime sale results',
  domain: 'coretime',
  doc: 'Purchases, renewals and spending in each sale of bulk coretime.',
  columns: {
    relay_chain: name('relay chain whose cores are sold', { title: 'Relay chain' }),
    chain: name('coretime chain', { title: 'Chain' }),
    region_begin: count('first timeslice on sale, which identifies the sale', {
      title: 'First timeslice',
      unit: 'identifier',
    }),
    sale_cycle: count('rank of `region_begin` among all stored sales of the relay chain, from 1', {
      title: 'Sale cycle',
      unit: 'identifier',
    }),
    bulk_purchases: count('cores bought', { title: 'Cores bought' }),
    renewals: count('cores renewed', { title: 'Cores renewed' }),
    ...sumColumns('bulk_spend', 'sum of the prices of the purchases', { title: 'Spending on purchases' }),
    ...sumColumns('renewal_spend', 'sum of the prices of the renewals', { title: 'Spending on renewals' }),
    ...sumColumns('total_burn', '`bulk_spend` + `renewal_spend`', { title: 'Burn' }),
    ...amountColumns('min_purchase_price', 'lowest price of a purchase; null without purchases', {
      title: 'Lowest price',
      overTime: 'min',
      nullable: true,
    }),
    avg_purchase_price: real('`bulk_spend` / `bulk_purchases`, in native tokens; null without purchases', {
      title: 'Average price',
      unit: 'native',
      overTime: 'mean',
      nullable: true,
    }),
    ...amountColumns('max_purchase_price', 'highest price of a purchase; null without purchases', {
      title: 'Highest price',
      overTime: 'max',
      nullable: true,
    }),
    unique_buyers: count('distinct accounts that purchased', {
      title: 'Buyers',
      overTime: 'none',
      overChains: 'none',
    }),
    cores_offered: count('cores offered', { title: 'Cores offered' }),
    sold_out: flag('true if `bulk_purchases` + `renewals` >= `cores_offered`', { title: 'Sold out' }),
  },
  key: ['relay_chain', 'region_begin'],
  materialized: 'whole',
  select: (window) => orderByTime(brokerEvents(window, SALE_EVENTS)),
  version: 2,
  fold: (facts: readonly CoretimeFact[], { relay_chain }) =>
    salesOf(facts).map((sale) => ({ relay_chain, ...metricsOf(sale) })),
  endpoints: [
    {
      path: '/api/coretime-sale-metrics',
      summary: 'Purchases, renewals and spending by sale cycle',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      filters: { region_begin: regionBegin },
    },
  ],
});

function metricsOf({ initialization, cycle, purchases, renewals }: Sale): Record<string, unknown> {
  const { chain, decimals, event } = initialization;
  const prices = purchases
    .map((purchase) => purchase.event.price)
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const bulk = totalPrice(purchases);
  const renewed = totalPrice(renewals);
  return {
    chain,
    region_begin: event.region_begin,
    sale_cycle: cycle,
    bulk_purchases: purchases.length,
    renewals: renewals.length,
    ...amounts('bulk_spend', bulk, decimals),
    ...amounts('renewal_spend', renewed, decimals),
    ...amounts('total_burn', bulk + renewed, decimals),
    ...amounts('min_purchase_price', prices[0] ?? null, decimals),
    avg_purchase_price: prices.length === 0 ? null : dividedDown(bulk, BigInt(prices.length), decimals),
    ...amounts('max_purchase_price', prices.at(-1) ?? null, decimals),
    unique_buyers: new Set(purchases.map((purchase) => purchase.event.who)).size,
    cores_offered: event.cores_offered,
    sold_out: purchases.length + renewals.length >= event.cores_offered,
  };
}
