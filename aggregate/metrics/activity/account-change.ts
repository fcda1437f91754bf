import { raw, type Sql, sql } from '../../../infra/sql.ts';
import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import { hasHours, ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { count, name, timestamp } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { accountHistory, hasExistenceRole, hasMonthlyRole } from './account-history.ts';
import { accountHour, hasRole, ROLE } from './account-hour.ts';

const startOfMonth = ({ from }: Window) => `${from.slice(0, 'YYYY-MM'.length)}-01`;
const isActive = hasRole(ROLE.signed, ROLE.ethereumSent);
const isCreated = hasRole(ROLE.created);
/** A chain, and the union of all chains of its relay chain; solo chains have no relay chain. */
const chainAndEcosystem = sql`arrayJoin(if(relay_chain = 'solo', [toString(chain)], [toString(chain), ${ECOSYSTEM}]))`;

/** Earlier rows to look up for the accounts of a window. */
interface AccountLookup {
  /** The condition that an hour of an account has a wanted role. */
  readonly isWanted: Sql;
  /** The condition that limits the lookup to the partitions with these rows. */
  readonly parts: Sql;
  /** Columns to read besides account, chain and hour. */
  readonly facts: readonly string[];
}

/**
 * Selects the history, up to the end of a window, of accounts that have a wanted role in the window. Only these accounts
 * can have a wanted role for the first time in the window.
 *
 * A window of hours has few accounts. FINAL would read all columns of every granule that may hold one of them, so this
 * picks the newest versions itself. For windows of years that would take too much memory.
 */
const historyOf = (window: Window, { isWanted, parts, facts }: AccountLookup): Sql => {
  const ofAccounts = sql`${ofRelays(window)} AND hour < ${window.until} AND ${parts}
    AND (relay_chain, account) IN (SELECT relay_chain, account FROM ${accountHour.table}
      WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until} AND ${isWanted})`;
  const columns = raw(['relay_chain', 'chain', 'account', 'hour', ...facts].join(', '));
  if (!hasHours(window))
    return sql`(SELECT ${columns} FROM ${accountHistory.table} FINAL WHERE ${ofAccounts})`;
  const qualified = raw(facts.map((name) => `known.${name}`).join(', '));
  const names = raw(facts.map((name, index) => `newest.${index + 2} AS ${name}`).join(', '));
  return sql`
  (SELECT relay_chain, chain, account, hour, ${names}
  FROM (
    SELECT relay_chain, chain, account, hour, argMax((known.is_deleted, ${qualified}), known.version) AS newest
    FROM ${accountHistory.table} AS known WHERE ${ofAccounts}
    GROUP BY relay_chain, chain, account, hour)
  WHERE newest.1 = 0)`;
};

/** The hours of the first transaction and the first creation of each account in a month; 0 for none. */
const firstHours = (window: Window): Sql => sql`
  SELECT relay_chain, ${chainAndEcosystem} AS home, account, toStartOfMonth(hour) AS month,
    minIf(hour, ${isActive}) AS first_active, minIf(hour, ${isCreated}) AS first_created
  FROM ${historyOf(window, { isWanted: hasMonthlyRole, parts: sql`is_life = 0 AND hour >= ${startOfMonth(window)}`, facts: ['roles'] })}
  GROUP BY relay_chain, home, account, month`;

/** By hour, the change in existence: 1, 0 or -1. The last creation or removal decides whether the account exists. */
const existenceChanges = (window: Window): Sql => sql`
  SELECT relay_chain, chain, account, hour,
    toInt64(argMax(${hasRole(ROLE.endsAlive)}, (life_block, life_event)) OVER up_to)
      - toInt64(argMax(${hasRole(ROLE.endsAlive)}, (life_block, life_event)) OVER earlier) AS change
  FROM ${historyOf(window, { isWanted: hasExistenceRole, parts: sql`is_life = 1`, facts: ['roles', 'life_block', 'life_event'] })}
  WINDOW up_to AS (PARTITION BY relay_chain, chain, account ORDER BY hour ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
    earlier AS (PARTITION BY relay_chain, chain, account ORDER BY hour ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;

/** As `existenceChanges`, with the union of all chains of each relay chain. */
const existenceChangesWithEcosystem = (window: Window): Sql => sql`
  SELECT relay_chain, hour, arrayJoin(if(relay_chain = 'solo', of_chains,
      arrayPushBack(of_chains, (${ECOSYSTEM}, toInt64(alive > 0) - toInt64(alive - changed > 0))))) AS of_home,
    of_home.1 AS home, of_home.2 AS change
  FROM (
    SELECT relay_chain, account, hour, groupArray((toString(chain), change)) AS of_chains, sum(change) AS changed,
      sum(changed) OVER (PARTITION BY relay_chain, account ORDER BY hour
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS alive
    FROM (${existenceChanges(window)}) GROUP BY relay_chain, account, hour)`;

/** The sum over the hours of a month is the number of distinct accounts of the month. No endpoint serves this metric. */
export const accountChange = metric({
  record: 'AccountChange',
  title: 'New accounts by hour',
  domain: 'activity',
  doc: 'Accounts of a chain, or of all chains of a relay chain, by UTC hour: active for the first time in the month, created, and the change in existing accounts.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain, or `ecosystem`'),
    hour: timestamp('start of the UTC hour'),
    active: count('signers and Ethereum senders that were not active in an earlier hour of the month'),
    created: count('created accounts that were not created in an earlier hour of the month'),
  },
  // The change in the number of existing accounts.
  internal: { existing: 'Int64' },
  key: ['hour', 'relay_chain', 'chain'],
  materialized: 'hourly',
  invalidationScope: 'onward',
  select: (window) => sql`
    SELECT relay_chain, home AS chain, hour, sum(of_active) AS active, sum(of_created) AS created, sum(change) AS existing
    FROM (
      SELECT relay_chain, home, arrayJoin([(first_active, 1, 0), (first_created, 0, 1)]) AS first, first.1 AS hour,
        first.2 AS of_active, first.3 AS of_created, toInt64(0) AS change
      FROM (${firstHours(window)})
      UNION ALL SELECT relay_chain, home, (hour, 0, 0), hour, 0, 0, change
      FROM (${existenceChangesWithEcosystem(window)}) WHERE change != 0
    )
    WHERE hour >= ${window.from}
    GROUP BY relay_chain, home, hour`,
  endpoints: [],
});
