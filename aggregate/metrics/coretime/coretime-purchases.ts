import { z } from 'zod';
import { sql } from '../../../infra/sql.ts';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import { count, name, real, text } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { usd, usdExact } from '../shared/amounts.ts';
import { amountColumns, amounts } from '../shared/native-amounts.ts';
import { accountFilter, regionBegin } from './coretime-filters.ts';
import { placeColumns, placeOf } from './event-place.ts';
import {
  type CoretimeFact,
  type DecodedBrokerEvent,
  paymentFacts,
  pricesByDay,
} from './folds/coretime-facts.ts';
import { paymentsIn } from './folds/coretime-sales.ts';

const PURCHASE_TYPES = ['bulk', 'renewal'] as const;

export const coretimePurchase = metric({
  record: 'CoretimePurchase',
  title: 'Coretime purchases',
  domain: 'coretime',
  doc: 'Payments for bulk coretime: purchases of regions in a sale, and renewals.',
  columns: {
    relay_chain: name('relay chain whose cores are sold', { title: 'Relay chain' }),
    chain: name('coretime chain', { title: 'Chain' }),
    purchase_type: name('`bulk` or `renewal`', { title: 'Kind of purchase', values: PURCHASE_TYPES }),
    who: text('account that paid', { title: 'Buyer' }),
    region_begin: count('first timeslice of the region, or of the renewed workload', {
      title: 'First timeslice',
      unit: 'identifier',
    }),
    core: count('index of the core; for a renewal, the core after the renewal', {
      title: 'Core',
      unit: 'identifier',
    }),
    mask: text('mask of the parts of the core, as hex; null for renewals', { title: 'Mask', nullable: true }),
    ...amountColumns('price', 'price paid', { title: 'Price' }),
    price_usd: real('`price` in USD at the token price of the day; null without one', {
      title: 'Price in USD',
      unit: 'usd',
      nullable: true,
    }),
    duration: count('length in timeslices', { title: 'Timeslices' }),
    ...placeColumns,
  },
  internal: { who_key: 'String' },
  key: ['relay_chain', 'timestamp', 'block_number', 'event_index'],
  order: ['relay_chain', 'block_number', 'event_index'],
  materialized: 'hourly',
  select: paymentFacts,
  fold: (facts: readonly CoretimeFact[], { relay_chain }) => {
    const priceOf = pricesByDay(facts);
    return paymentsIn(facts).map((payment) => ({ relay_chain, ...purchaseRow(payment, priceOf(payment)) }));
  },
  endpoints: [
    {
      path: '/api/coretime-purchases',
      summary: 'Purchases and renewals of bulk coretime',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      dates: { column: 'timestamp', required: false },
      isLimited: true,
      filters: {
        region_begin: regionBegin,
        who: accountFilter(sql`who_key`, 'account that paid'),
        purchase_type: {
          schema: z.enum(PURCHASE_TYPES).describe('`bulk` or `renewal`'),
          condition: (type: string) => sql`purchase_type = ${type}`,
        },
      },
    },
  ],
});

function purchaseRow(
  payment: DecodedBrokerEvent<'Purchased' | 'Renewed'>,
  price: bigint | null,
): Record<string, unknown> {
  const { event, chain, prefix, decimals } = payment;
  const bought =
    event.kind === 'Purchased'
      ? {
          purchase_type: 'bulk',
          region_begin: event.region.begin,
          core: event.region.core,
          mask: event.region.mask,
        }
      : { purchase_type: 'renewal', region_begin: event.begin, core: event.core, mask: null };
  return {
    chain,
    ...bought,
    who: encodeAddress(event.who, prefix),
    who_key: event.who,
    ...amounts('price', event.price, decimals),
    price_usd: price === null ? null : usd(usdExact(event.price, decimals, price)),
    duration: event.duration,
    ...placeOf(payment),
  };
}
