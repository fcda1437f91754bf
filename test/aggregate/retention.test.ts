import { afterAll, beforeAll, expect, it } from 'vitest';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { deleteRawRows } from '../../aggregate/retention/delete-raw.ts';
import { RawRetention, type RawRetentionOptions } from '../../aggregate/retention/raw-retention.ts';
import { readStatus } from '../../aggregate/status/status.ts';
import { meta } from '../../infra/clickhouse/schema.ts';
import { DAY_MS } from '../../infra/days.ts';
import { DATABASE, raw, sql } from '../../infra/sql.ts';
import { createTable } from '../../infra/table.ts';
import { timeOf } from '../../ingest/decode/block-time.ts';
import { Random } from '../../ingest/demo/random.ts';
import { readRetention, recordRetention } from '../../ingest/raw/retention.ts';
import { calls, deadLetters, events, extrinsics } from '../../ingest/raw/tables.ts';
import { exportRaw } from '../../serve/application/cli/raw-exporter.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { StoredSchema } from '../../serve/application/compose/stored-schema.ts';
import { LocalClient } from '../../serve/application/operations/client.ts';
import { DirectoryTarget } from '../../serve/raw-export/directory-target.ts';
import { ALL_ROLES } from '../../serve/settings/process-roles.ts';
import { History } from '../generator/history.ts';
import { type InputLine, readLines } from '../reference/input.ts';
import { differences } from '../support/compared.ts';
import { type Content, contentOf, differences as differencesOf } from '../support/content.ts';
import { Mirror } from '../support/mirror.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openServed, type Served } from './metrics/coretime/served.ts';

/** Its blocks are of December 2023 and January 2024. */
const SEED = 23;
const BOUND = '2024-01-01';
const PATIENCE_MS = 600_000;
const LARGE = [extrinsics.name, events.name, calls.name];

let served: Served;
let pipeline: Pipeline;
beforeAll(async () => {
  served = await openServed();
  ({ pipeline } = served);
});
afterAll(() => served.close());

const withoutLarge = (content: Content): Content =>
  new Map([...content].filter(([name]) => !LARGE.includes(name)));

/** Deletes what is older than a day, so many days after everything was loaded. */
const retention = (
  old: string,
  { later = 2, ...more }: { later?: number } & Partial<RawRetentionOptions> = {},
) => {
  const now = Date.now() + later * DAY_MS;
  return new RawRetention({
    runtime: { ...pipeline.runtime, clock: { now: () => now } },
    days: (now - Date.parse(old)) / DAY_MS,
    leaseMs: 60_000,
    logger: { info: () => undefined, warn: () => undefined },
    stageMs: 0,
    ...more,
  });
};

const lettersOf = () =>
  pipeline.runtime.store.rows<{ reason: string; line: number; kept: number; size: number }>(
    sql`SELECT reason, line, length(bytes) AS kept, toUInt32(size) AS size FROM ${deadLetters} FINAL ORDER BY line`,
  );

const payloadIn = ({ line }: InputLine) => {
  const document = JSON.parse(line);
  return document.payload ?? document;
};
const timeIn = (line: InputLine) => timeOf(Buffer.from(JSON.stringify(payloadIn(line)))) ?? 0;

it(
  'every answer stays when raw rows of old months go, also after a rebuild, another recipe and a later price',
  async () => {
    const { store } = pipeline.runtime;
    const { lines } = new History(SEED, { blocks: 150 });
    // Where a stage was reached, every process looks each time.
    for (const stage of ['closed', 'frozen', 'deleted'] as const)
      await recordRetention(store, stage, { before: '2020-01-01', at: 1 });
    await served.ingest(...lines);
    const mirror = await Mirror.pull(served.rows);
    const before = withoutLarge(await contentOf(pipeline));
    const same = async () => differencesOf(withoutLarge(await contentOf(pipeline)), before);
    const at = retention('2024-01-15');

    // Not the days that a load may add to yet, nor any where there is nothing to delete.
    for (const waiting of [
      retention('2024-01-15', { later: 0.9 }),
      retention('2024-01-15', { isLoading: () => true }),
      retention('2023-12-30'),
    ])
      await waiting.next();
    expect((await readRetention(store)).closed.before).toBe('2020-01-01');
    expect(await at.next()).toBe(0);
    const closed = { closed: { before: BOUND }, frozen: { before: '2020-01-01' } };
    expect(await readRetention(store)).toMatchObject(closed);

    // Another block of a height, and one of a day that is closed; the same block again changes nothing.
    const old = lines.filter((line) => timeIn(line) > 0 && timeIn(line) < Date.parse(BOUND));
    const [first] = old as [InputLine];
    const others = [{ hash: `0x${'e'.repeat(64)}` }, { number: '90000000' }].map((changes) => ({
      ...first,
      line: JSON.stringify({ ...payloadIn(first), ...changes }),
      chain: first.chain ?? JSON.parse(first.line).chain,
    }));
    await served.ingest(first, ...others);
    const letters = await lettersOf();
    expect(letters.map(({ reason }) => reason)).toEqual(
      others.map(() => `older than ${BOUND}: the raw rows of these days were deleted (RETENTION_RAW_DAYS)`),
    );
    expect(letters.every(({ kept, size }) => kept <= 512 && size > kept)).toBe(true);
    expect(await same()).toEqual([]);

    // Nothing goes before its time, nor while something is not computed.
    expect(await retention('2024-01-15', { stageMs: 3_600_000 }).next()).toBe(0);
    expect(await readRetention(store)).toMatchObject(closed);
    await at.next();
    expect((await readRetention(store)).frozen.before).toBe(BOUND);
    // What a killed process leaves.
    await store.run(createTable({ ...events, name: `${events.name}_kept` }));
    const rows = await rowsBefore();
    const deleted = await at.next();
    expect(deleted).toBeGreaterThan(rows / 4);
    expect(await rowsBefore()).toBe(rows - deleted);
    expect(await at.next()).toBe(0);
    await retention('2028-12-01').next();
    expect((await readRetention(store)).closed.before).toBe(BOUND);
    const again = { from: '1970-01-01', before: BOUND };
    expect(await deleteRawRows(store, materializedMetrics, again, async () => undefined)).toBe(0);
    expect(await same()).toEqual([]);

    expect(await exported()).toMatchObject({ blocks: true, extrinsics: false });
    // As an export asks that began before the stage.
    const place = { relay_chain: 'polkadot', chain: 'polkadot' } as const;
    const day = { ...place, table: extrinsics.name, dates: ['2023-12-31'] };
    await expect(new LocalClient(pipeline).call('rawRows', day)).rejects.toThrow(/are being deleted/);

    const { retention: bounds } = await readStatus(pipeline.runtime, pipeline.aggregator);
    expect(bounds).toEqual({ blocks_from: BOUND, raw_rows_from: BOUND });

    await pipeline.aggregator.rebuild(materializedMetrics, '2020-01-01', '2025-01-01');
    expect(await same()).toEqual([]);
    expect(await mirror.follow(served.rows)).toEqual([]);

    // As an upgrade with another recipe finds it.
    await store.insert(
      meta,
      ['chain_hour', 'account_hour', 'daily_tps'].map((name) => ({ name: `table ${name}`, value: 'other' })),
    );
    const { config, runtime } = pipeline;
    const upgraded = new StoredSchema({ runtime, config, roles: ALL_ROLES, waits: false });
    await upgraded.open();
    upgraded.stop();
    await pipeline.aggregator.rebuild(materializedMetrics, '2020-01-01', '2025-01-01');
    expect(await same()).toEqual([]);

    const price: InputLine = {
      line: JSON.stringify({
        ...{
          schema: 'snapshot/1',
          kind: 'price',
          relay_chain: 'polkadot',
          chain: 'polkadot',
          block_number: 1,
        },
        ...{ as_of: `${new Date(timeIn(first)).toISOString().slice(0, 10)}T00:00:00.000Z` },
        payload: { symbol: 'DOT', usd: 7.25 },
      }),
    };
    await served.ingest(price);
    expect(await differences(served, readLines([...lines, price]), new Random(SEED))).toEqual([]);
  },
  PATIENCE_MS,
);

/** Whether files of days before the bound are written. */
async function exported(): Promise<Record<string, boolean>> {
  using place = temporaryDirectory();
  const target = await DirectoryTarget.open(place.path);
  const tables = ['blocks', 'extrinsics'];
  const client = new LocalClient(pipeline);
  const days = { until: '2023-12-31' };
  const report = await exportRaw({ client, target, tables, chains: [], days, onProgress: () => undefined });
  await target.close();
  return Object.fromEntries(tables.map((name) => [name, (report.tables[name]?.written ?? 0) > 0]));
}

/** Raw rows of the three tables before the bound. */
async function rowsBefore(): Promise<number> {
  const counts = await Promise.all(
    LARGE.map((name) =>
      pipeline.runtime.store.rows<{ rows: number }>(
        sql`SELECT count() AS rows FROM ${raw(`${DATABASE}.${name}`)} WHERE toYear(time) > 1970 AND time < ${BOUND}`,
      ),
    ),
  );
  return counts.reduce((sum, [row]) => sum + (row?.rows ?? 0), 0);
}
