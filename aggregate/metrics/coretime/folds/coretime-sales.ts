import type { BrokerEventKind } from '../../../../ingest/decode/broker.ts';
import {
  type CoretimeFact,
  type DecodedBrokerEvent,
  decodeBrokerEvents,
  isKind,
  sortByBlock,
} from './coretime-facts.ts';

export const SALE_EVENTS = ['SaleInitialized', 'Purchased', 'Renewed'] as const satisfies BrokerEventKind[];

/** One sale cycle with its purchases and renewals. */
export interface Sale {
  readonly initialization: DecodedBrokerEvent<'SaleInitialized'>;
  /** From 1, in the order of the first timeslices of the sales. */
  readonly cycle: number;
  readonly purchases: readonly DecodedBrokerEvent<'Purchased'>[];
  readonly renewals: readonly DecodedBrokerEvent<'Renewed'>[];
}

/** A purchase or renewal belongs to the sale with the same first timeslice, if any. */
export function salesOf(facts: readonly CoretimeFact[]): Sale[] {
  const occurrences = sortByBlock(decodeBrokerEvents(facts));
  const purchases = Map.groupBy(occurrences.filter(isKind('Purchased')), ({ event }) => event.region.begin);
  const renewals = Map.groupBy(occurrences.filter(isKind('Renewed')), ({ event }) => event.begin);
  // A second initialization for the same timeslices replaces the first.
  const initializations = new Map(
    occurrences.filter(isKind('SaleInitialized')).map((sale) => [sale.event.region_begin, sale]),
  );
  return [...initializations.keys()]
    .sort((a, b) => a - b)
    .map((begin, i) => ({
      initialization: initializations.get(begin) as DecodedBrokerEvent<'SaleInitialized'>,
      cycle: i + 1,
      purchases: purchases.get(begin) ?? [],
      renewals: renewals.get(begin) ?? [],
    }));
}

export const totalPrice = (sold: readonly DecodedBrokerEvent<'Purchased' | 'Renewed'>[]): bigint =>
  sold.reduce((sum, { event }) => sum + event.price, 0n);

export const paymentsIn = (facts: readonly CoretimeFact[]): DecodedBrokerEvent<'Purchased' | 'Renewed'>[] =>
  decodeBrokerEvents(facts).filter(
    (fact): fact is DecodedBrokerEvent<'Purchased' | 'Renewed'> =>
      isKind('Purchased')(fact) || isKind('Renewed')(fact),
  );
