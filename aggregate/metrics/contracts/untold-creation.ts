import { sql } from '../../../infra/sql.ts';
import { INSTANTIATIONS } from '../../../ingest/decode/fact-calls.ts';
import {
  canonicalCalls,
  canonicalEvents,
  canonicalExtrinsics,
  hourSql,
  ofPallets,
} from '../../../ingest/raw/canonical.ts';
import { count, name, timestamp } from '../../columns.ts';
import { metric } from '../../metric.ts';

/** The table of calls holds executed calls only. */
const isInstantiation = sql`call IN ${INSTANTIATIONS}`;
const ofContracts = ofPallets('revive', 'contracts');
/** An Ethereum transaction without a receiver. An unreadable one has neither sender nor receiver. */
const isEthereumCreation = sql`call = 'ethTransact' AND ethereum AND ethereum_from != '' AND ethereum_to = ''`;

/** Some runtimes emit no event for a creation, so the count of that day is unknown. No endpoint serves it. */
export const untoldCreation = metric({
  record: 'UntoldCreation',
  title: 'Creations without an event',
  domain: 'contracts',
  doc: 'Successful extrinsics of a chain and UTC hour with more instantiations than `Instantiated` events.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain'),
    hour: timestamp('start of the UTC hour'),
    extrinsics: count('successful extrinsics with a creation without an event'),
  },
  key: ['hour', 'relay_chain', 'chain'],
  materialized: 'hourly',
  select: (window) => sql`
    SELECT relay_chain, chain, hour, uniqExact(number, extrinsic_index) AS extrinsics
    FROM (
      SELECT relay_chain, chain, number, extrinsic_index, pallet, ${hourSql('any(time)')} AS hour
      FROM (
        SELECT relay_chain, chain, number, extrinsic_index, pallet, time, 1 AS ran, 0 AS told
        FROM ${canonicalCalls(window, sql`${ofContracts} AND ${isInstantiation}`)}
        UNION ALL SELECT relay_chain, chain, number, extrinsic_index, pallet, time, 1, 0
        FROM ${canonicalExtrinsics(window, sql`${ofContracts} AND ${isEthereumCreation} AND succeeded = 1`)}
        UNION ALL SELECT relay_chain, chain, number, assumeNotNull(extrinsic_index), pallet, time, 0, 1
        FROM ${canonicalEvents(window, sql`${ofContracts} AND event = 'Instantiated' AND isNotNull(extrinsic_index)`)}
      )
      GROUP BY relay_chain, chain, number, extrinsic_index, pallet HAVING sum(ran) > sum(told)
    )
    GROUP BY relay_chain, chain, hour`,
  endpoints: [],
});
