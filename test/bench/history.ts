import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chainDay } from '../../aggregate/metrics/activity/chain-day.ts';
import { chainHour } from '../../aggregate/metrics/activity/chain-hour.ts';
import { dailyTps } from '../../aggregate/metrics/activity/daily-tps.ts';
import { writeRows } from '../../aggregate/runner/write-rows.ts';
import { raw, sql } from '../../infra/sql.ts';
import type { Window } from '../../ingest/raw/canonical.ts';
import { isEmpty } from '../../ingest/raw/is-empty.ts';
import { blocks, dirtyDays, extrinsics } from '../../ingest/raw/tables.ts';
import { openPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';

/** A year of two chains, written by the engine itself: nothing is parsed, every block is living. */
export const YEAR: Window = {
  relays: ['polkadot'],
  from: '2024-01-01',
  until: '2024-12-31',
};
export const DAYS = 365;
/** A day in the middle, for what is done a day at a time. */
export const ONE_DAY: Window = {
  relays: ['polkadot'],
  from: '2024-06-15',
  until: '2024-06-16',
};

const CHAINS = "['polkadot', 'asset-hub-polkadot']";
const EXTRINSICS_PER_BLOCK = 20;
const ACCOUNTS = 200_000;

/** Each test of speed wants the whole machine: no limit of requests, no log. */
export const BENCH_SETTINGS = {
  LOG_LEVEL: 'silent',
  ANONYMOUS_PER_MINUTE: '1000000000',
  ANONYMOUS_PER_DAY: '0',
  ANONYMOUS_STORE_SECONDS: '0',
};

export interface History {
  readonly pipeline: Pipeline;
  close(): Promise<void>;
}

/** Opens a history that is there, or makes one of so many extrinsics that is gone after `close`. */
export async function openHistory(
  count: number,
  directory?: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<History> {
  const path = directory ?? mkdtempSync(join(tmpdir(), 'chain-metrics-history-'));
  const pipeline = await openPipeline(readConfig({ ...BENCH_SETTINGS, ...settings, DATA_DIR: path }));
  if (await isEmpty(pipeline.runtime.store)) await fill(pipeline, count);
  return {
    pipeline,
    close: async () => {
      await pipeline.close();
      if (directory === undefined) rmSync(path, { recursive: true, force: true });
    },
  };
}

async function fill({ runtime: { store } }: Pipeline, count: number): Promise<void> {
  const all = Math.ceil(count / EXTRINSICS_PER_BLOCK);
  // Neighbours in number are two chains at one height; heights spread evenly over the year.
  const facts = raw(`'polkadot' AS relay_chain, ${CHAINS}[1 + n % 2] AS chain, intDiv(n, 2) AS number,
    toDateTime64('${YEAR.from}', 3, 'UTC') + toIntervalMillisecond(toInt64(intDiv(n, 2) * ${DAYS * 86_400_000} / ${all / 2})) AS time,
    toUInt128(n + 1) AS rank`);
  await store.run(sql`INSERT INTO ${blocks}
      (relay_chain, chain, number, time, rank, hash, parent_hash, author, finalized, extrinsics, events, source, received_at)
    SELECT ${facts}, concat('0x', hex(sipHash128(chain, number))), concat('0x', hex(sipHash128(chain, number - 1))), '',
      1, ${EXTRINSICS_PER_BLOCK}, 3 * ${EXTRINSICS_PER_BLOCK}, 'bench', time
    FROM (SELECT number AS n FROM numbers(${all}))`);
  await store.run(sql`INSERT INTO ${extrinsics}
      (relay_chain, chain, number, time, rank, extrinsic_index, hash, pallet, call, pallet_written, signed, signer,
       signer_key, success, succeeded, fee, domain, args)
    SELECT ${facts}, i % ${EXTRINSICS_PER_BLOCK} AS extrinsic_index, concat('0x', lower(hex(sipHash128(i)))) AS hash,
      if(signed, 'balances', 'timestamp') AS pallet, if(signed, 'transferKeepAlive', 'set') AS call, pallet,
      extrinsic_index > 1 AS signed, if(signed, base58Encode(signer_key), '') AS signer,
      if(signed, concat(reinterpretAsString(sipHash128(account)), reinterpretAsString(sipHash128(account + 1))), '') AS signer_key,
      1, 1, if(signed, 100000000 + i % 1000003, 0) AS fee, if(signed, 'Assets', 'Consensus'),
      if(signed, concat('{"dest":{"id":"', signer, '"},"value":"', toString(i), '"}'), '')
    FROM (SELECT number AS i, intDiv(number, ${EXTRINSICS_PER_BLOCK}) AS n, cityHash64(number) % ${ACCOUNTS} AS account
      FROM numbers(${all * EXTRINSICS_PER_BLOCK}))`);
  await store.run(sql`INSERT INTO ${dirtyDays} (stream, pallet, relay_chain, chain, day, sequence)
    SELECT DISTINCT 'blocks', '', relay_chain, chain, toDate(assumeNotNull(time)), 1 FROM ${blocks}`);
  // The ground and one served metric: enough for the plans of the aggregator and for answers.
  for (const metric of [chainHour, chainDay, dailyTps])
    await writeRows(store, { metric, window: YEAR }, { version: 1n, writesEqualRows: false });
}
