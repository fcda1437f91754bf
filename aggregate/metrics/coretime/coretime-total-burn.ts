import { count, name, timestamp } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { amounts, sumColumns } from '../shared/native-amounts.ts';
import { type CoretimeFact, decodeBrokerEvents, isKind } from './folds/coretime-facts.ts';
import { paymentsIn, SALE_EVENTS, totalPrice } from './folds/coretime-sales.ts';
import { factsWithNewestBlocks } from './folds/newest-block-facts.ts';

export const coretimeTotalBurn = metric({
  record: 'CoretimeTotalBurn',
  title: 'Lifetime coretime burn',
  domain: 'coretime',
  doc: 'Total burn of bulk coretime over all time: the prices of all purchases and renewals, including those that belong to no stored sale. Revenue of on-demand coretime is not included.',
  columns: {
    relay_chain: name('relay chain whose cores are sold', { title: 'Relay chain' }),
    chain: name('coretime chain', { title: 'Chain' }),
    ...sumColumns('total_burn', 'sum of the prices of all purchases and renewals', {
      title: 'Burn',
      overTime: 'last',
    }),
    sales: count('sales opened', { title: 'Sales', overTime: 'last' }),
    purchases: count('purchases, without renewals', { title: 'Purchases', overTime: 'last' }),
    renewals: count('renewals', { title: 'Renewals', overTime: 'last' }),
    as_of: timestamp('time of the newest stored block of the coretime chain', {
      title: 'Time of the newest block',
    }),
  },
  key: ['relay_chain'],
  materialized: 'whole',
  select: (window) => factsWithNewestBlocks(window, SALE_EVENTS),
  fold: (facts: readonly CoretimeFact[], { relay_chain }) => {
    const occurrences = decodeBrokerEvents(facts);
    const last = occurrences.at(-1);
    if (last === undefined) return [];
    const payments = paymentsIn(facts);
    const count = (kind: (typeof SALE_EVENTS)[number]) => occurrences.filter(isKind(kind)).length;
    return [
      {
        relay_chain,
        chain: last.chain,
        ...amounts('total_burn', totalPrice(payments), last.decimals),
        sales: count('SaleInitialized'),
        purchases: count('Purchased'),
        renewals: count('Renewed'),
        as_of:
          facts.find(({ kind, chain }) => kind === 'newest block' && chain === last.chain)?.time ?? last.time,
      },
    ];
  },
  endpoints: [
    {
      path: '/api/coretime-total-burn',
      summary: 'Burn of all purchases and renewals of bulk coretime, by relay chain',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
    },
  ],
});
