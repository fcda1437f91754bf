import type { BrokerEventKind } from '../../../../ingest/decode/broker.ts';
import { type CoretimeFact, type Happened, happenedIn, isKind } from './coretime-facts.ts';

/** What sales are folded from. */
export const SALE_EVENTS = ['SaleInitialized', 'Purchased', 'Renewed'] as const satisfies BrokerEventKind[];

/** One sale cycle: what was offered, and what was sold of it. */
export interface Sale {
  readonly opened: Happened<'SaleInitialized'>;
  /** From 1, by the first timeslice of what is sold. */
  readonly cycle: number;
  readonly purchases: readonly Happened<'Purchased'>[];
  readonly renewals: readonly Happened<'Renewed'>[];
}

/** The sales of a relay chain. What was sold belongs to the sale of its first timeslice, if there was one. */
export function salesOf(facts: readonly CoretimeFact[]): Sale[] {
  const happened = happenedIn(facts);
  const purchases = Map.groupBy(happened.filter(isKind('Purchased')), ({ event }) => event.region.begin);
  const renewals = Map.groupBy(happened.filter(isKind('Renewed')), ({ event }) => event.begin);
  // A sale that is opened again for the same timeslices replaces the first.
  const opened = new Map(
    happened.filter(isKind('SaleInitialized')).map((sale) => [sale.event.region_begin, sale]),
  );
  return [...opened.keys()]
    .sort((a, b) => a - b)
    .map((begin, i) => ({
      opened: opened.get(begin) as Happened<'SaleInitialized'>,
      cycle: i + 1,
      purchases: purchases.get(begin) ?? [],
      renewals: renewals.get(begin) ?? [],
    }));
}

export const spent = (sold: readonly Happened<'Purchased' | 'Renewed'>[]): bigint =>
  sold.reduce((sum, { event }) => sum + event.price, 0n);

/** What was paid for cores, as purchase or renewal, with where and when. */
export const paymentsIn = (facts: readonly CoretimeFact[]): Happened<'Purchased' | 'Renewed'>[] =>
  happenedIn(facts).filter(
    (fact): fact is Happened<'Purchased' | 'Renewed'> => isKind('Purchased')(fact) || isKind('Renewed')(fact),
  );
