import { sql } from '../../../infra/sql.ts';
import { day as date, name, real } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { TOTAL, type TreasuryFact, treasuryRows } from '../governance/folds/treasury.ts';
import { snapshotOfMonth } from '../shared/snapshot.ts';
import { dateSql, pricesOf, registryOf } from '../shared/sql.ts';

export const monthlyTreasuryBalances = metric({
  record: 'MonthlyTreasuryBalances',
  title: 'Treasury balances',
  domain: 'finance',
  doc: `Balances of a treasury at the end of a month, from the last \`treasury_balance\` snapshot of the month. Each asset has a row with its sum over the accounts of the treasury; the row \`${TOTAL}\` adds up all assets in USD. USD values use the price on the day of the snapshot. An unknown amount is null, never 0.`,
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the snapshot', { title: 'Chain' }),
    month: date('last day of the month', { title: 'Month' }),
    asset: name(`symbol of the asset, or \`${TOTAL}\``, { title: 'Asset', total: TOTAL }),
    balance_token: real(`balance in units of the asset; null in the \`${TOTAL}\` row`, {
      title: 'Balance',
      unit: 'number',
      overTime: 'last',
      nullable: true,
    }),
    balance_usd: real(
      `\`balance_token\` * price, in USD; null without a price. The \`${TOTAL}\` row adds up the known values`,
      {
        title: 'Balance in USD',
        unit: 'usd',
        overTime: 'last',
        nullable: true,
      },
    ),
    share: real(
      `\`balance_usd\` / \`balance_usd\` of the \`${TOTAL}\` row, 0 to 1; null when either is unknown`,
      {
        title: 'Share of the treasury',
        unit: 'ratio',
        overTime: 'last',
        nullable: true,
      },
    ),
    balance_native_equivalent: real(
      '`balance_usd` / price of the token of the chain, in native tokens; the balance itself for that token. Null when a price is unknown',
      { title: 'Balance in native tokens', unit: 'native', overTime: 'last', nullable: true },
    ),
  },
  key: ['month', 'relay_chain', 'chain', 'asset'],
  materialized: 'monthly',
  select: (window) => sql`
    SELECT relay_chain, chain, month, any(token) AS token, any(payload) AS payload,
      groupArrayIf((toString(priced.token), toString(assumeNotNull(price))), isNotNull(price)) AS prices
    FROM (
      SELECT stated.relay_chain AS relay_chain, stated.chain AS chain, month, payload, toDate(as_of) AS date,
        registry.token AS token
      FROM ${snapshotOfMonth(window, 'treasury_balance')} AS stated
      INNER JOIN ${registryOf(window)} AS registry USING (relay_chain, chain)
    ) AS treasuries
    LEFT JOIN ${pricesOf(dateSql(window.from), dateSql(window.until))} AS priced USING (date)
    GROUP BY relay_chain, chain, month ORDER BY month, relay_chain, chain`,
  version: 2,
  fold: (facts: readonly TreasuryFact[]) => facts.flatMap(treasuryRows),
  endpoints: [
    {
      path: '/api/monthly-treasury-balances',
      summary: 'Treasury balances by asset at the end of a month, in tokens and USD',
      relays: SERVED_RELAYS,
      dates: { column: 'month', floor: '2023-01-01', required: false },
    },
  ],
});
