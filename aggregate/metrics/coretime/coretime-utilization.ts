import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, day, name, real } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { chainDay } from '../activity/chain-day.ts';
import {
  brokerEvents,
  type CoretimeFact,
  configsIn,
  coretimeConfigs,
  dayOf,
  decodeBrokerEvents,
  factsFrom,
  isKind,
  orderByTime,
} from './folds/coretime-facts.ts';

export const coretimeUtilization = metric({
  record: 'CoretimeUtilization',
  title: 'Coretime utilization',
  domain: 'coretime',
  doc: 'Average number of cores in use per relay block, and the number available: cores offered in the newest sale plus cores reserved for the system. Leased cores are not counted as available.',
  mainColumn: 'utilization',
  columns: {
    date: day('UTC day of the relay blocks', { title: 'Day' }),
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('name of the relay chain, whose blocks are counted', { title: 'Chain' }),
    cores_offered: count(
      'cores offered by the newest sale opened by the end of the day, or else by the newest `coretime_config` snapshot; null before the first of either',
      { title: 'Cores offered', overTime: 'last', nullable: true },
    ),
    system_cores: count(
      'cores reserved for the system: reservations in the newest `coretime_config` snapshot by the end of the day; null before the first one',
      { title: 'System cores', overTime: 'last', nullable: true },
    ),
    cores_available: count('`cores_offered` + `system_cores`; null when either is null', {
      title: 'Cores available',
      overTime: 'last',
      nullable: true,
    }),
    avg_cores_used: real('`included_candidates` / `relay_blocks`', {
      title: 'Cores in use',
      unit: 'count',
      overTime: 'mean',
    }),
    utilization: real('`avg_cores_used` / `cores_available`; null when `cores_available` is 0 or null', {
      title: 'Utilization',
      unit: 'ratio',
      nullable: true,
    }),
    included_candidates: count('parachain blocks included on this day', { title: 'Parachain blocks' }),
    relay_blocks: count('relay blocks of this day', { title: 'Relay blocks' }),
    distinct_paras: count('parachains with a block included on this day', {
      title: 'Parachains',
      overTime: 'none',
      overChains: 'none',
    }),
  },
  key: ['date', 'relay_chain'],
  materialized: 'daily',
  invalidationScope: 'onward',
  select: (window) =>
    orderByTime(
      brokerEvents(window, ['SaleInitialized']),
      coretimeConfigs(window),
      factsFrom(
        'day',
        sql`relay_chain, chain, toDateTime64(date, 3, 'UTC') AS time, 0 AS number,
          [toString(num_blocks), toString(included_candidates), toString(distinct_paras)] AS data`,
        sql`${chainDay.table} FINAL
          WHERE ${ofRelays(window)} AND chain = relay_chain AND date >= ${window.from} AND date < ${window.until}`,
      ),
    ),
  fold: (facts: readonly CoretimeFact[], { relay_chain }) => {
    const sales = decodeBrokerEvents(facts).filter(isKind('SaleInitialized'));
    const configs = configsIn(facts);
    return facts
      .filter(({ kind }) => kind === 'day')
      .map(({ time, data }) => {
        const date = dayOf(time);
        const isKnown = (fact: { readonly time: string }) => dayOf(fact.time) <= date;
        const config = configs.findLast(isKnown);
        const offered =
          sales.findLast(isKnown)?.event.cores_offered ?? config?.sale_info.cores_offered ?? null;
        const reserved = config?.reservations.length ?? null;
        const available = offered === null || reserved === null ? null : offered + reserved;
        const [blocks = 0, included = 0, paras = 0] = data.map(Number);
        return {
          date,
          relay_chain,
          chain: relay_chain,
          cores_offered: offered,
          system_cores: reserved,
          cores_available: available,
          avg_cores_used: included / blocks,
          utilization: available ? included / (blocks * available) : null,
          included_candidates: included,
          relay_blocks: blocks,
          distinct_paras: paras,
        };
      });
  },
  endpoints: [
    {
      path: '/api/coretime-utilization',
      summary: 'Average cores in use per relay block and cores available, by day',
      relays: ['polkadot', 'kusama'],
      scopeParameters: ['relay_chain'],
      defaults: { relay_chain: 'polkadot' },
      dates: { column: 'date', required: false },
    },
  ],
});
