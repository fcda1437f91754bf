import { raw, sql } from '../../../infra/sql.ts';
import { canonicalEvents, hourSql, ofPallets } from '../../../ingest/raw/canonical.ts';
import { addressSql, prefixSql } from '../../../ingest/raw/parse-sql.ts';
import { paidField } from '../../../ingest/raw/views/event-facts.ts';
import { count, name, timestamp, widePlanck } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { registryOf } from '../shared/sql.ts';

const isWanted = sql`${ofPallets('staking', 'nominationPools')} AND refused = '' AND (pallet, event) IN (('staking', 'Rewarded'), ('staking', 'Slashed'),
  ('staking', 'PayoutStarted'), ('staking', 'ValidatorIncentivePaid'), ('nominationPools', 'PaidOut'))`;

const isReward = raw(`event IN ('Rewarded', 'ValidatorIncentivePaid')`);
/** A reward with the destination `None` is not paid. */
const isUnpaid = raw(`length(data) > 2 AND match(${paidField(2)}, '(?i)^([{] *")?none')`);

/** The input of the daily rewards. No endpoint serves it. */
export const stakingRewardHour = metric({
  record: 'StakingRewardHour',
  title: 'Staking rewards by hour',
  domain: 'staking',
  doc: 'Rewards and slashes of an account of a chain by UTC hour.',
  columns: {
    hour: timestamp('start of the UTC hour'),
    relay_chain: name('relay chain'),
    chain: name('chain of the payouts'),
    of_stash: widePlanck('rewards of the stash'),
    of_pools: widePlanck('payouts of pools'),
    slashes: widePlanck('slashes'),
    num_payouts: count('rewards and payouts'),
    era_min: count('first era of the rewards', { nullable: true }),
    era_max: count('last era of the rewards', { nullable: true }),
  },
  // `written_here`: the address in an event, if the address has the prefix of the chain.
  internal: { account: 'String', written_here: 'String' },
  key: ['hour', 'relay_chain', 'chain', 'account'],
  materialized: 'hourly',
  select: (window) => {
    const events = sql`
      SELECT relay_chain, chain, ${hourSql('time')} AS hour, account, ${raw(addressSql(paidField(1)))} AS written,
        toUInt256(ifNull(amount, 0)) AS planck,
        multiIf(pallet = 'nominationPools', 'pool', NOT ${isReward}, toString(event), ${isUnpaid}, 'nobody', 'stash') AS kind,
        toUInt64OrNull(data[1]) AS first_field,
        anyLast(if(event = 'PayoutStarted', first_field, NULL)) OVER (
          PARTITION BY rank, phase, extrinsic_index ORDER BY event_index
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS started,
        if(event = 'ValidatorIncentivePaid', first_field, started) AS era
      FROM ${canonicalEvents(window, isWanted)}`;
    return sql`
      SELECT hour, relay_chain, chain, account, anyIf(written, ${raw(prefixSql('written'))} = prefix) AS written_here,
        sumIf(planck, kind = 'stash') AS of_stash, sumIf(planck, kind = 'pool') AS of_pools,
        sumIf(planck, kind = 'Slashed') AS slashes, countIf(kind IN ('stash', 'pool')) AS num_payouts,
        minIf(era, kind = 'stash') AS era_min, maxIf(era, kind = 'stash') AS era_max
      FROM (${events}) AS paid
      INNER JOIN ${registryOf(window)} AS registry USING (relay_chain, chain)
      WHERE kind IN ('stash', 'pool', 'Slashed')
      GROUP BY hour, relay_chain, chain, account`;
  },
  endpoints: [],
});
