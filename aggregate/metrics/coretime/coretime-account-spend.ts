import { sql } from '../../../infra/sql.ts';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import { count, name, text, timestamp } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { amounts, sumColumns } from '../shared/native-amounts.ts';
import { accountFilter } from './coretime-filters.ts';
import {
  brokerEvents,
  type CoretimeFact,
  type DecodedBrokerEvent,
  orderByTime,
} from './folds/coretime-facts.ts';
import { paymentsIn, SALE_EVENTS, totalPrice } from './folds/coretime-sales.ts';

export const coretimeAccountSpend = metric({
  record: 'CoretimeAccountSpend',
  title: 'Coretime spending by account',
  domain: 'coretime',
  doc: 'Spending of each account on bulk coretime over all time, split into purchases and renewals; highest spending first.',
  columns: {
    relay_chain: name('relay chain whose cores are sold', { title: 'Relay chain' }),
    chain: name('coretime chain of the last payment', { title: 'Chain' }),
    who: text('account that paid', { title: 'Account' }),
    ...sumColumns('total_spend', '`bulk_spend` + `renewal_spend`', { title: 'Total spending' }),
    ...sumColumns('bulk_spend', 'sum of the prices of its purchases', { title: 'Spending on purchases' }),
    ...sumColumns('renewal_spend', 'sum of the prices of its renewals', { title: 'Spending on renewals' }),
    bulk_count: count('purchases', { title: 'Purchases' }),
    renewal_count: count('renewals', { title: 'Renewals' }),
    first_purchase_at: timestamp('time of its first purchase or renewal', { title: 'First payment' }),
    last_purchase_at: timestamp('time of its last purchase or renewal', { title: 'Last payment' }),
  },
  internal: { who_key: 'String' },
  key: ['relay_chain', 'who'],
  order: ['relay_chain', { column: 'total_spend_planck', descending: true }, 'who'],
  materialized: 'whole',
  select: (window) => orderByTime(brokerEvents(window, SALE_EVENTS)),
  fold: (facts: readonly CoretimeFact[], { relay_chain }) =>
    [...Map.groupBy(paymentsIn(facts), ({ event }) => event.who).values()].map((payments) => ({
      relay_chain,
      ...spendRow(payments),
    })),
  endpoints: [
    {
      path: '/api/coretime-account-spend',
      summary: 'Spending on bulk coretime by account, highest first',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      isLimited: true,
      filters: { who: accountFilter(sql`who_key`, 'account that paid') },
    },
  ],
});

/** The row of one account, from its payments, oldest first. */
function spendRow(payments: readonly DecodedBrokerEvent<'Purchased' | 'Renewed'>[]): Record<string, unknown> {
  const first = payments[0] as DecodedBrokerEvent<'Purchased' | 'Renewed'>;
  const last = payments.at(-1) as DecodedBrokerEvent<'Purchased' | 'Renewed'>;
  const bulk = payments.filter(({ event }) => event.kind === 'Purchased');
  const renewals = payments.filter(({ event }) => event.kind === 'Renewed');
  return {
    chain: last.chain,
    who: encodeAddress(last.event.who, last.prefix),
    who_key: last.event.who,
    ...amounts('total_spend', totalPrice(payments), last.decimals),
    ...amounts('bulk_spend', totalPrice(bulk), last.decimals),
    ...amounts('renewal_spend', totalPrice(renewals), last.decimals),
    bulk_count: bulk.length,
    renewal_count: renewals.length,
    first_purchase_at: first.time,
    last_purchase_at: last.time,
  };
}
