import { join, raw, type Sql, sql } from '../../../../infra/sql.ts';
import {
  type BrokerEvent,
  type BrokerEventKind,
  type BrokerEventOf,
  readBrokerEvent,
} from '../../../../ingest/decode/broker.ts';
import { daysOf, ofRelays, type Window, within } from '../../../../ingest/raw/canonical.ts';
import { chains, snapshots } from '../../../../ingest/raw/tables.ts';
import { pricesOf } from '../../shared/sql.ts';
import { brokerEvent } from './broker-event.ts';

/**
 * The input of the coretime folds, in one shape: events of the broker pallet, prices, snapshots, and times of relay
 * blocks.
 */
export interface CoretimeFact {
  readonly relay_chain: string;
  readonly kind: string;
  readonly chain: string;
  /** SS58 prefix and decimals of the chain for events, else 0. */
  readonly prefix: number;
  readonly decimals: number;
  readonly time: string;
  readonly number: number;
  readonly event_index: number;
  readonly extrinsic_index: number | null;
  readonly data: readonly string[];
}

/** A broker event with its fields and its position in the chain. */
export type DecodedBrokerEvent<Kind extends BrokerEventKind = BrokerEventKind> = Omit<
  CoretimeFact,
  'kind' | 'data'
> & {
  readonly event: BrokerEventOf<Kind>;
};

type OfRelays = Pick<Window, 'relays'>;

/** Facts of several kinds, by relay chain and time. */
export const orderByTime = (...facts: readonly Sql[]): Sql =>
  sql`SELECT * FROM (${join(facts, ' UNION ALL ')}) ORDER BY relay_chain, time, chain, number, event_index`;

/** The coretime chains. */
export const coretimeChains = (of: OfRelays) =>
  sql`(SELECT relay_chain, chain, token, prefix, decimals FROM ${chains} FINAL
    WHERE ${ofRelays(of)} AND role = 'coretime')`;

const eventFacts = (of: OfRelays, kinds: readonly BrokerEventKind[], where: Sql) =>
  sql`SELECT relay_chain, kind, chain, prefix, decimals, at AS time, number, event_index, extrinsic_index, data
    FROM (SELECT * FROM ${brokerEvent.table} FINAL
      WHERE ${ofRelays(of)} AND ${where} AND kind IN ${kinds}) AS events
    INNER JOIN ${coretimeChains(of)} AS sellers USING (relay_chain, chain)`;

export const brokerEvents = (of: OfRelays, kinds: readonly BrokerEventKind[]): Sql =>
  eventFacts(of, kinds, raw('1'));

export const brokerEventsWithin = (window: Window, kinds: readonly BrokerEventKind[]): Sql =>
  eventFacts(window, kinds, within(window, raw('at')));

/** Selects facts that are not events. `columns` are `relay_chain`, `chain`, `time`, `number` and `data`; the rest is constant. */
export const factsFrom = (kind: string | Sql, columns: Sql, from: Sql): Sql =>
  sql`SELECT relay_chain, ${kind} AS kind, chain, 0 AS prefix, 0 AS decimals, time, number, 0 AS event_index,
    NULL AS extrinsic_index, data FROM (SELECT ${columns} FROM ${from})`;

/** The price of the token on each day of a window, as the decimal text of USD * 10^30. */
const dayPrices = (window: Window): Sql => {
  const { from, until } = daysOf(window);
  return factsFrom(
    'price',
    sql`relay_chain, chain, toDateTime64(date, 3, 'UTC') AS time, 0 AS number, [toString(assumeNotNull(price))] AS data`,
    sql`${coretimeChains(window)} AS sellers INNER JOIN ${pricesOf(sql`${from}`, sql`${until}`)} AS prices USING (token)`,
  );
};

/** Purchases and renewals of a window, with the prices of its days. */
export const paymentFacts = (window: Window): Sql =>
  orderByTime(brokerEventsWithin(window, ['Purchased', 'Renewed']), dayPrices(window));

export const coretimeConfigs = (of: OfRelays): Sql =>
  factsFrom(
    'config',
    sql`relay_chain, chain, as_of AS time, 0 AS number, [payload] AS data`,
    sql`${snapshots} FINAL WHERE ${ofRelays(of)} AND kind = 'coretime_config'`,
  );

/** The fields of a `coretime_config` snapshot that folds use; the loader has validated it. */
export interface CoretimeConfig {
  readonly sale_info: {
    readonly region_begin: number;
    readonly cores_offered: number;
    readonly first_core: number;
    readonly cores_sold: number;
    readonly sellout_price: string | null;
  };
  readonly reservations: readonly unknown[];
}

export const configsIn = (facts: readonly CoretimeFact[]): (CoretimeConfig & { readonly time: string })[] =>
  facts
    .filter(({ kind }) => kind === 'config')
    .map(({ time, data }) => ({ ...(JSON.parse(data[0] as string) as CoretimeConfig), time }));

export function decodeBrokerEvents(facts: readonly CoretimeFact[]): DecodedBrokerEvent[] {
  return facts.flatMap(({ kind, data, ...position }) => {
    const event = readBrokerEvent(kind, data);
    return event === null ? [] : [{ ...position, event } as DecodedBrokerEvent];
  });
}

/** Sorts events by block, because times do not always rise with heights. */
export const sortByBlock = (occurrences: readonly DecodedBrokerEvent[]): DecodedBrokerEvent[] =>
  occurrences.toSorted(
    (a, b) =>
      (a.chain < b.chain ? -1 : Number(a.chain > b.chain)) ||
      a.number - b.number ||
      a.event_index - b.event_index,
  );

export const isKind =
  <Kind extends BrokerEventKind>(kind: Kind) =>
  (occurrence: DecodedBrokerEvent): occurrence is DecodedBrokerEvent<Kind> =>
    (occurrence.event as BrokerEvent).kind === kind;

/** Finds the price of the token on the day of an event, as USD * 10^30. */
export function pricesByDay(
  facts: readonly CoretimeFact[],
): (of: CoretimeFact | DecodedBrokerEvent) => bigint | null {
  const book = new Map(
    facts
      .filter(({ kind }) => kind === 'price')
      .map(({ chain, time, data }) => [`${chain} ${dayOf(time)}`, BigInt(data[0] as string)]),
  );
  return ({ chain, time }) => book.get(`${chain} ${dayOf(time)}`) ?? null;
}

/** The UTC day of a time in the text format of the store. */
export const dayOf = (time: string): string => time.slice(0, 10);
