/** The heaviest list answers, uncached, against the engine alone running the same query. */

import { coretimeRegionEvent } from '../../aggregate/metrics/coretime/coretime-region-events.ts';
import { govVoterHistory } from '../../aggregate/metrics/governance/gov-voter-history.ts';
import { dailyStakingRewards } from '../../aggregate/metrics/staking/daily-staking-rewards.ts';
import { raw, sql } from '../../infra/sql.ts';
import { encodeAddress } from '../../ingest/chains/address.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { againstEngineAlone } from './engine-alone.ts';
import { BENCH_SETTINGS } from './history.ts';
import { type Figure, readSizes, report } from './measure.ts';

const GOAL = 0.8;
const VOTES = 500_000;
const REGION_EVENTS = 200_000;
const REWARDED_ACCOUNTS = 1000;
const DAYS = 365;
const ASKED_ACCOUNTS = 100;

const keyOf = (index: number) => `0x${index.toString(16).padStart(64, '0')}`;
const KEY = "concat('0x', leftPad(lower(hex(toUInt32(account))), 64, '0'))";

const sizes = readSizes();
using directory = temporaryDirectory();
const pipeline = await openPipeline(
  readConfig({ ...BENCH_SETTINGS, CACHE_BYTES: '1', DATA_DIR: directory.path }),
);
const { store } = pipeline.runtime;
await store.run(sql`INSERT INTO ${govVoterHistory.table}
    (relay_chain, chain, referendum_index, voter, voter_key, vote_type, vote_direction, voted_at, version)
  SELECT 'polkadot', 'polkadot', intDiv(number, 500), ${raw(KEY)} AS voter, voter, 'Standard', 'aye',
    toDateTime64('2024-01-01', 3, 'UTC') + number, 1
  FROM (SELECT number, number % 500 AS account FROM numbers(${VOTES}))`);
await store.run(sql`INSERT INTO ${coretimeRegionEvent.table} (relay_chain, chain, block_number, event_index, version)
  SELECT 'polkadot', 'coretime-polkadot', number, 0, 1 FROM numbers(${REGION_EVENTS})`);
await store.run(sql`INSERT INTO ${dailyStakingRewards.table}
    (relay_chain, chain, date, account, account_key, reward, version)
  SELECT 'polkadot', 'polkadot', toDate('2024-01-01') + intDiv(number, ${REWARDED_ACCOUNTS}), ${raw(KEY)} AS key, key,
    number, 1
  FROM (SELECT number, number % ${REWARDED_ACCOUNTS} AS account FROM numbers(${DAYS * REWARDED_ACCOUNTS}))`);

const accounts = Array.from({ length: ASKED_ACCOUNTS }, (_, i) => `accounts=${encodeAddress(keyOf(i), 0)}`);
const LISTS = {
  'votes on a referendum': '/api/gov-voter-history?referendum_index=500',
  'first page of all votes': '/api/gov-voter-history',
  'first page of region events': '/api/coretime-region-events',
  'rewards of 100 accounts in a year': `/api/daily-staking-rewards?chain=polkadot&start_date=2024-01-01&end_date=2024-12-31&${accounts.join('&')}`,
};

const app = await buildServer(pipeline);
await app.listen({ port: 0 });
const figures: Figure[] = [];
for (const [work, path] of Object.entries(LISTS)) {
  const { product, peer, ratio } = await againstEngineAlone(app, pipeline, [path], sizes.rounds);
  figures.push({
    work,
    peer: 'the same query, engine alone',
    figure: `${product.toFixed(1)} against ${peer.toFixed(1)} a second`,
    ratio,
    goal: `>= ${GOAL}`,
    met: ratio >= GOAL,
  });
}
await app.close();
await pipeline.close();
report(figures);
