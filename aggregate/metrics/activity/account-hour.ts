import { raw, type Sql, sql } from '../../../infra/sql.ts';
import { canonicalEvents, canonicalExtrinsics, hourSql } from '../../../ingest/raw/canonical.ts';
import { chains } from '../../../ingest/raw/tables.ts';
import { count, name, timestamp } from '../../columns.ts';
import { type MaterializedMetric, metric } from '../../metric.ts';

/** Roles of an account as bits, so that one `bitAnd` tests for several roles. */
export const ROLE = {
  signed: 1,
  received: 2,
  ethereumSent: 4,
  ethereumSucceeded: 8,
  ethereumReceived: 16,
  created: 32,
  /** Set if the last creation or removal is a creation; `endsDead` if it is a removal. */
  endsAlive: 64,
  endsDead: 128,
} as const;

export const hasRole = (...roles: readonly number[]) =>
  raw(`bitAnd(roles, ${roles.reduce((all, role) => all | role, 0)}) != 0`);

/** Bytes of an Ethereum address. */
export const H160_BYTES = 20;

/** The account of a key. An asset hub maps an Ethereum address to an account of 32 bytes. */
export const accountSql = (key: string): Sql =>
  sql`if(length(${raw(key)}) = ${H160_BYTES} AND (relay_chain, chain) IN (
      SELECT relay_chain, chain FROM ${chains} FINAL WHERE role = 'asset-hub'),
    concat(${raw(key)}, repeat('\\xEE', 12)), ${raw(key)})`;

const HOUR = sql`${hourSql('time')} AS hour`;
/** The accounts of an extrinsic with their roles, 0 for none. */
const IN_EXTRINSIC = raw(`arrayJoin([
        (signer_key, if(signed, ${ROLE.signed}, 0)),
        (ethereum_from, if(ethereum, ${ROLE.ethereumSent} + if(succeeded = 1, ${ROLE.ethereumSucceeded}, 0), 0)),
        (ethereum_to, if(ethereum, ${ROLE.ethereumReceived}, 0))])`);
const IS_ACCOUNT_EVENT = sql`refused = '' AND ((pallet = 'balances' AND event = 'Transfer')
        OR (pallet = 'system' AND event IN ('NewAccount', 'KilledAccount')))`;

/**
 * One row per account and hour with any activity. No endpoint serves it. Distinct counts over days and chains are unions
 * of these rows by account. Keys of 20 and of 32 bytes are always different accounts.
 */
export const accountHour: MaterializedMetric = metric({
  record: 'AccountHour',
  title: 'Roles of accounts by hour',
  domain: 'activity',
  doc: 'Roles that an account had on one chain and UTC hour.',
  columns: {
    hour: timestamp('start of the UTC hour'),
    relay_chain: name('relay chain'),
    chain: name('chain'),
    roles: count('bits of `ROLE`'),
  },
  internal: {
    account: 'String',
    // Position of the last creation or removal in the hour, events from 1; 0 without one.
    life_block: 'UInt64',
    life_event: 'UInt64',
  },
  key: ['hour', 'relay_chain', 'chain', 'account'],
  materialized: 'hourly',
  select: (window) => sql`
    SELECT hour, relay_chain, chain, ${accountSql('key')} AS account,
      bitOr(groupBitOr(toUInt64(role)), argMaxIf(toUInt64(life), (number, event_index), life != 0)) AS roles,
      maxIf(number, life != 0) AS life_block,
      argMaxIf(event_index, (number, event_index), life != 0) AS life_event
    FROM (
      SELECT hour, relay_chain, chain, number, toUInt64(0) AS event_index, part.1 AS key, part.2 AS role, 0 AS life
      FROM (SELECT ${HOUR}, relay_chain, chain, number, ${IN_EXTRINSIC} AS part
        FROM ${canonicalExtrinsics(window, sql`(signed OR ethereum)`)})
      UNION ALL
      SELECT ${HOUR}, relay_chain, chain, number, toUInt64(event_index) + 1 AS event_index,
        if(event = 'Transfer', counterparty, account) AS key,
        multiIf(event = 'Transfer', ${ROLE.received}, event = 'NewAccount', ${ROLE.created}, 0) AS role,
        multiIf(event = 'NewAccount', ${ROLE.endsAlive}, event = 'KilledAccount', ${ROLE.endsDead}, 0) AS life
      FROM ${canonicalEvents(window, IS_ACCOUNT_EVENT)}
    )
    WHERE key != '' AND (role != 0 OR life != 0)
    GROUP BY hour, relay_chain, chain, account`,
  endpoints: [],
});
