import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { canonicalEvents, canonicalExtrinsics } from '../../../ingest/raw/canonical.ts';
import { metric } from '../../metric.ts';

/** Roles of an account on a day as bits, so that a test for any of several roles is one `bitAnd`. */
export const ROLE = {
  signed: 1,
  received: 2,
  ethereumSent: 4,
  ethereumSucceeded: 8,
  ethereumReceived: 16,
  created: 32,
  /** Whether the account existed after its last creation or removal of the day. */
  endsAlive: 64,
  endsDead: 128,
} as const;

/**
 * One row per account and day with any activity. Distinct counts over days, months or chains are unions of these
 * rows by key; a 20-byte and a 32-byte key are never the same account.
 */
export const accountDay = metric({
  record: 'AccountDay',
  doc: 'Roles that an account had on one chain and UTC day.',
  columns: {
    date: day('UTC day'),
    relay_chain: name('relay chain'),
    chain: name('chain'),
    roles: count('bits of `ROLE`'),
  },
  internal: { account: 'String' },
  key: ['date', 'relay_chain', 'chain', 'account'],
  materialized: 'daily',
  period: 'date',
  invalidationScope: 'day',
  lookbackDays: 1,
  keepsRows: true,
  select: (window) => sql`
    SELECT toDate(time) AS date, relay_chain, chain, groupBitOr(toUInt64(role)) AS roles, account
    FROM (
      SELECT time, relay_chain, chain, signer_key AS account, ${ROLE.signed} AS role
      FROM ${canonicalExtrinsics(window, sql`signed`)}
      UNION ALL
      SELECT time, relay_chain, chain, ethereum_from AS account,
        ${ROLE.ethereumSent} + if(succeeded = 1, ${ROLE.ethereumSucceeded}, 0) AS role
      FROM ${canonicalExtrinsics(window, sql`ethereum`)}
      UNION ALL
      SELECT time, relay_chain, chain, ethereum_to AS account, ${ROLE.ethereumReceived} AS role
      FROM ${canonicalExtrinsics(window, sql`ethereum`)}
      UNION ALL
      SELECT time, relay_chain, chain, counterparty AS account, ${ROLE.received} AS role
      FROM ${canonicalEvents(window, sql`pallet = 'balances' AND event = 'Transfer' AND refused = ''`)}
      UNION ALL
      SELECT min(lives.time) AS time, relay_chain, chain, account,
        if(argMax(event, (number, event_index)) = 'NewAccount', ${ROLE.endsAlive}, ${ROLE.endsDead})
          + if(countIf(event = 'NewAccount') > 0, ${ROLE.created}, 0) AS role
      FROM ${canonicalEvents(window, sql`pallet = 'system' AND event IN ('NewAccount', 'KilledAccount') AND refused = ''`)} AS lives
      GROUP BY relay_chain, chain, toDate(lives.time), account
    )
    WHERE account != ''
    GROUP BY date, relay_chain, chain, account`,
  endpoints: [],
});
