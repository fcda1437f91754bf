import { type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import { blocks, extrinsics } from '../../../ingest/raw/tables.ts';
import { chainDay } from './chain-day.ts';

export interface OneChain {
  readonly relay_chain: string;
  readonly chain: string;
}

/** Time and height of a chain's newest block. */
export const newestBlock = ({ relay_chain, chain }: OneChain): Sql =>
  sql`(SELECT max(last_time) AS as_of, max(last_block) AS latest_block FROM ${chainDay.table} FINAL
    WHERE relay_chain = ${relay_chain} AND chain = ${chain} HAVING count() > 0)`;

/** Extrinsics of the 24 hours that end at the chain's newest block: later than as_of - 24 h, up to as_of. */
export const lastDayExtrinsics = (of: OneChain): Sql => {
  const mine = sql`relay_chain = ${of.relay_chain} AND chain = ${of.chain}`;
  const recent = sql`time > (SELECT as_of - INTERVAL 24 HOUR FROM ${newestBlock(of)})`;
  return sql`(SELECT * FROM ${extrinsics} WHERE ${mine} AND ${recent} AND rank IN (
    SELECT rank FROM ${blocks} FINAL WHERE ${mine} AND ${recent}
      AND number IN (SELECT number FROM ${blocks} WHERE ${mine} AND ${recent})))`;
};
