import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedStore } from '../../infra/embedded/store.ts';
import type { Store } from '../../infra/ports.ts';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import {
  canonicalBlocks,
  canonicalCalls,
  canonicalEvents,
  canonicalExtrinsics,
  type Window,
} from '../../ingest/raw/canonical.ts';
import { readStoredHeights } from '../../ingest/raw/loaded-blocks.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { writeHistory } from '../support/made-history.ts';
import { BENCH_SETTINGS } from './history.ts';

// What a live round reads of the raw tables, in processor time: over one day of blocks, and over the same day behind
// years of history. npx node test/bench/live-reads.ts 10000000

const BLOCKS = Number(process.argv[2] ?? 10_000_000);
const DAYS = 1500;
const FROM = '2020-01-01';
const LIVE = '2024-02-09';
const CHAINS = Array.from({ length: 50 }, (_, i) => `chain-${i}`);
const HOUR: Window = { relays: ['polkadot'], from: `${LIVE} 12:00:00`, until: `${LIVE} 13:00:00` };
const ROUNDS = 7;

const reads: Record<string, (store: Store) => Promise<unknown>> = {
  blocks: (store) => counted(store, canonicalBlocks(HOUR)),
  extrinsics: (store) => counted(store, canonicalExtrinsics(HOUR)),
  events: (store) => counted(store, canonicalEvents(HOUR)),
  calls: (store) => counted(store, canonicalCalls(HOUR)),
  'heights of a load': (store) =>
    readStoredHeights(
      store,
      CHAINS.slice(0, 24).map((chain) => ({ relay_chain: 'polkadot', chain, number: '900000000' })),
    ),
};

const counted = (store: Store, rows: Sql) =>
  store.rows(sql`SELECT count(), sum(cityHash64(${raw('number, time, rank')})) FROM ${rows}`);

async function measure(history: number): Promise<Record<string, number>> {
  const directory = mkdtempSync(join(tmpdir(), 'chain-metrics-live-'));
  const config = readConfig({ ...BENCH_SETTINGS, DATA_DIR: directory });
  await (await openPipeline(config)).close();
  const store = await EmbeddedStore.open(config);
  try {
    const made = { chains: CHAINS, relay_chain: 'polkadot' };
    for (let part = 0; part < 10 && history > 0; part++) {
      const from = new Date(Date.parse(FROM) + (part * DAYS * 86_400_000) / 10).toISOString().slice(0, 10);
      const first = (part * history) / 10;
      await writeHistory(store, { ...made, blocks: history / 10, from, days: DAYS / 10, first });
    }
    await writeHistory(store, { ...made, blocks: 40_000, from: LIVE, days: 1, first: history });
    const seconds: Record<string, number> = {};
    for (const [name, read] of Object.entries(reads)) seconds[name] = await least(() => read(store));
    return seconds;
  } finally {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The least processor time of some runs: the others were disturbed. */
async function least(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1e6);
  }
  return Math.min(...times);
}

const empty = await measure(0);
const full = await measure(BLOCKS);
const sum = (seconds: Record<string, number>) => Object.values(seconds).reduce((a, b) => a + b, 0);
for (const name of Object.keys(reads)) {
  process.stdout.write(`${name}: ${empty[name]?.toFixed(3)} s, ${full[name]?.toFixed(3)} s\n`);
}
process.stdout.write(
  `all: ${sum(empty).toFixed(3)} s over one day, ${sum(full).toFixed(3)} s over ${BLOCKS} blocks more, ratio ${(sum(full) / sum(empty)).toFixed(2)}\n`,
);
process.exit();
