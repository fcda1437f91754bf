import { type Sql, sql } from '../../../../infra/clickhouse/sql.ts';
import { ofRelays, type Window } from '../../../../ingest/raw/canonical.ts';
import { chainDay } from '../../activity/chain-day.ts';
import { brokerEvents, oldestFirst, otherFacts, sellers } from './coretime-facts.ts';
import { REGION_EVENTS, TIMESLICE_BLOCKS } from './coretime-regions.ts';
import { SALE_EVENTS } from './coretime-sales.ts';

/**
 * All that has happened, and how far the chains are now: `newest block` of the coretime chain, `timeslice` of the relay
 * chain. Metrics that compare the two read the same, each for its own kinds of facts, so that a round reads it once.
 */
export const presentFacts = (window: Window): Sql =>
  oldestFirst(
    brokerEvents(window, [...new Set([...SALE_EVENTS, ...REGION_EVENTS])]),
    otherFacts(
      'newest block',
      sql`relay_chain, chain, max(last_time) AS time, max(last_block) AS number, CAST([], 'Array(String)') AS data`,
      sql`${chainDay.table} FINAL WHERE ${ofRelays(window)}
        AND (relay_chain, chain) IN (SELECT relay_chain, chain FROM ${sellers(window)}) GROUP BY relay_chain, chain`,
    ),
    otherFacts(
      'timeslice',
      // Its first block: regions end with timeslices, so that the other blocks change none.
      sql`relay_chain, chain, toDateTime64(0, 3, 'UTC') AS time,
        intDiv(max(last_block), ${TIMESLICE_BLOCKS}) * ${TIMESLICE_BLOCKS} AS number, CAST([], 'Array(String)') AS data`,
      sql`${chainDay.table} FINAL WHERE ${ofRelays(window)} AND chain = relay_chain GROUP BY relay_chain, chain`,
    ),
  );
