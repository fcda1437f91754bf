import { type Sql, sql } from '../../../../infra/sql.ts';
import type { BrokerEventKind } from '../../../../ingest/decode/broker.ts';
import { ofRelays, type Window } from '../../../../ingest/raw/canonical.ts';
import { chainDay } from '../../activity/chain-day.ts';
import { brokerEvents, coretimeChains, factsFrom, orderByTime } from './coretime-facts.ts';
import { TIMESLICE_BLOCKS } from './coretime-regions.ts';

/**
 * All events of these kinds, and the newest blocks: `newest block` of the coretime chain, `timeslice` of the relay
 * chain.
 */
export const factsWithNewestBlocks = (window: Window, kinds: readonly BrokerEventKind[]): Sql =>
  orderByTime(
    brokerEvents(window, kinds),
    factsFrom(
      sql`kind`,
      // The first block of the timeslice: regions end with timeslices, so other blocks change no region.
      sql`relay_chain, chain, arrayJoin(arrayConcat(
          if(chain = relay_chain, [('timeslice', toDateTime64(0, 3, 'UTC'),
            intDiv(max(last_block), ${TIMESLICE_BLOCKS}) * ${TIMESLICE_BLOCKS})], []),
          if(is_seller, [('newest block', max(last_time), max(last_block))], []))) AS fact,
        fact.1 AS kind, fact.2 AS time, fact.3 AS number, CAST([], 'Array(String)') AS data`,
      sql`(SELECT *, (relay_chain, chain) IN (SELECT relay_chain, chain FROM ${coretimeChains(window)}) AS is_seller
        FROM ${chainDay.table} FINAL WHERE ${ofRelays(window)} AND (chain = relay_chain OR is_seller))
        GROUP BY relay_chain, chain, is_seller`,
    ),
  );
