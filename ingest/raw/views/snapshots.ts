import { raw, sql } from '../../../infra/sql.ts';
import { landingTable, view } from '../../../infra/table.ts';
import { snapshotRankSql } from '../ordering.ts';
import { dirtyDays, prices, snapshots } from '../tables.ts';

/** Validated snapshots, their amounts as decimal strings. */
export const snapshotsIn = landingTable({
  name: 'snapshots_in',
  doc: 'Validated snapshots.',
  columns: {
    sequence: 'UInt64',
    relay_chain: 'String',
    chain: 'String',
    kind: 'String',
    as_of: 'String',
    symbol: 'String',
    block_number: 'Nullable(UInt64)',
    version: 'String',
    payload: 'String',
  },
});

const rank = raw(snapshotRankSql({ version: 'version', sequence: 'sequence' }));
const moment = raw(`parseDateTime64BestEffort(as_of, 3, 'UTC')`);

const snapshotRows = view(
  'snapshots_to_snapshots',
  snapshotsIn,
  snapshots,
  sql`SELECT relay_chain, chain, kind, ${moment} AS as_of, symbol, block_number, payload, ${rank} AS rank
  FROM ${snapshotsIn}`,
);

/** 30 decimals represent every price in a JSON number exactly. */
const priceRows = view(
  'snapshots_to_prices',
  snapshotsIn,
  prices,
  sql`WITH splitByChar('.', JSONExtractString(payload, 'usd')) AS parts
  SELECT symbol, ${moment} AS as_of, relay_chain, chain,
    toUInt256(concat(parts[1], rightPad(substring(parts[2], 1, 30), 30, '0'))) AS usd_scaled, ${rank} AS rank
  FROM ${snapshotsIn} WHERE kind = 'price'`,
);

const dirtyDayRows = view(
  'snapshots_to_dirty_days',
  snapshotsIn,
  dirtyDays,
  sql`SELECT if(kind = 'price', 'prices', 'snapshots') AS stream, relay_chain, chain, toDate(${moment}) AS day,
    max(sequence) AS sequence
  FROM ${snapshotsIn} GROUP BY stream, relay_chain, chain, day`,
);

export const snapshotViews = [snapshotRows, priceRows, dirtyDayRows];
