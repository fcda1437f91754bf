import { type Sql, sql } from '../../../infra/sql.ts';
import { type ChainKey, ofChain } from '../../../ingest/raw/canonical.ts';
import { blocks, extrinsics } from '../../../ingest/raw/tables.ts';
import { chainDay } from './chain-day.ts';

/** Time and height of the newest timed block of a chain. */
export const newestBlock = (key: ChainKey): Sql =>
  sql`(SELECT max(last_time) AS as_of, max(last_block) AS last_timed FROM ${chainDay.table} FINAL
    WHERE ${ofChain(key)} HAVING count() > 0)`;

/** The highest block of a chain, untimed blocks included; reads only heights from the newest timed block on. */
export const greatestHeight = (key: ChainKey): Sql =>
  sql`(SELECT max(number) FROM ${blocks} FINAL
    WHERE ${ofChain(key)} AND number >= (SELECT last_timed FROM ${newestBlock(key)}))`;

/** Extrinsics of the 24 hours up to the newest block: after as_of - 24 h, up to as_of. */
export const lastDayExtrinsics = (key: ChainKey): Sql => {
  const mine = ofChain(key);
  const recent = sql`time > (SELECT as_of - INTERVAL 24 HOUR FROM ${newestBlock(key)})`;
  return sql`(SELECT * FROM ${extrinsics} WHERE ${mine} AND ${recent} AND rank IN (
    SELECT rank FROM ${blocks} FINAL WHERE ${mine} AND ${recent}
      AND number IN (SELECT number FROM ${blocks} WHERE ${mine} AND ${recent})))`;
};
