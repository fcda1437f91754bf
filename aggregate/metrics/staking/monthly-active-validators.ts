import { sql } from '../../../infra/sql.ts';
import { count, day, name } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { countOf, snapshotOfMonth } from '../shared/snapshot.ts';

export const monthlyActiveValidators = metric({
  record: 'MonthlyActiveValidators',
  title: 'Validators and nominators',
  domain: 'staking',
  doc: 'Validators and nominators at the end of a month, from its last `validator_set` snapshot.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the snapshot', { title: 'Chain' }),
    month: day('last day of the month', { title: 'Month' }),
    number_of_active_validators: count('validators in the active set', {
      title: 'Active validators',
      overTime: 'last',
    }),
    number_of_waiting_validators: count('registered validators that are not active', {
      title: 'Waiting validators',
      overTime: 'last',
    }),
    number_of_nominators: count('nominators', { title: 'Nominators', overTime: 'last', overChains: 'none' }),
  },
  key: ['month', 'relay_chain', 'chain'],
  materialized: 'monthly',
  select: (window) => sql`
    SELECT relay_chain, chain, month, JSONLength(payload, 'active') AS number_of_active_validators,
      ${countOf('waiting')} AS number_of_waiting_validators, ${countOf('nominators')} AS number_of_nominators
    FROM ${snapshotOfMonth(window, 'validator_set')}`,
  endpoints: [
    {
      path: '/api/monthly-active-validators',
      summary: 'Active and waiting validators at the end of a month',
      relays: SERVED_RELAYS,
      dates: { column: 'month', floor: '2023-01-01', required: false },
    },
  ],
});
