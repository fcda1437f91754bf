import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readHeights } from '../../../aggregate/status/heights.ts';
import { applySchema } from '../../../infra/clickhouse/schema.ts';
import type { Store } from '../../../infra/ports.ts';
import { DATABASE, join, type Sql, sql } from '../../../infra/sql.ts';
import { createTable } from '../../../infra/table.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { canonicalBlocks, type Window } from '../../../ingest/raw/canonical.ts';
import { decoders } from '../../../ingest/raw/decoders.ts';
import { recordReplacedBlocks } from '../../../ingest/raw/replaced-hours.ts';
import { blocks, replacedBlocks } from '../../../ingest/raw/tables.ts';
import { openStore } from '../../support/open-store.ts';

const SEEDS = Number(process.env.SEEDS ?? 5);
const RELAYS = ['kusama', 'polkadot'];
const HEIGHTS = ['1', '2', '3', '4', '5', '6'];
/** Two of a month, on its borders, in months apart, and none. */
const TIMES = [
  '2023-12-31 23:59:59.999',
  '2024-01-01 00:00:00.000',
  '2024-01-20 10:30:00.000',
  '2024-02-29 23:00:00.000',
  '2026-03-01 00:00:00.000',
  null,
];
const WINDOWS: readonly Window[] = [
  { relays: RELAYS, from: '2024-01-01', until: '2024-02-01' },
  { relays: ['polkadot'], from: '2023-12-31', until: '2024-01-01' },
  { relays: RELAYS, from: '2024-01-20 10:00:00', until: '2024-01-20 11:00:00' },
  { relays: ['kusama'], from: '2024-01-01', until: '2026-03-02' },
  { relays: RELAYS, from: '1970-01-01', until: '2149-06-06' },
];

interface Version {
  readonly relay_chain: string;
  readonly chain: string;
  readonly number: string;
  readonly time: string | null;
  readonly is_deleted: 0 | 1;
}

let store: Store;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ store, close } = await openStore());
  await applySchema(store, { tables: [blocks, replacedBlocks, decoders], derived: [], views: [] });
});
afterAll(() => close());

/** What a form of the canonical blocks holds in each window. */
const read = (form: (window: Window) => Sql) =>
  store.rows(
    sql`SELECT * FROM (${join(
      WINDOWS.map(
        (window, i) =>
          sql`SELECT ${i} AS window, relay_chain, chain, number, toString(rank) AS rank FROM ${form(window)}`,
      ),
      ' UNION ALL ',
    )}) ORDER BY ALL`,
  );

/** Every version that is stored judges every height. */
const byAll = ({ relays, from, until }: Window) =>
  sql`(SELECT * FROM (SELECT * FROM ${blocks} ORDER BY rank DESC LIMIT 1 BY relay_chain, chain, number)
    WHERE is_deleted = 0 AND relay_chain IN ${relays}
      AND time >= toDateTime64(${from}, 3, 'UTC') AND time < toDateTime64(${until}, 3, 'UTC'))`;

/** The heights of every chain, of all versions together. */
const heightsByAll = () =>
  store.rows(sql`SELECT relay_chain, chain, count() AS blocks, min(number) AS lowest_block, max(number) AS highest_block,
      countIf(isNull(time)) AS untimed_blocks, highest_block - lowest_block + 1 - blocks AS missing
    FROM (SELECT * FROM ${blocks} ORDER BY rank DESC LIMIT 1 BY relay_chain, chain, number)
    WHERE is_deleted = 0 GROUP BY relay_chain, chain ORDER BY relay_chain, chain`);

async function heightsByMonth(reader: Pick<Store, 'rows'>) {
  return (await readHeights(reader)).map(
    ({ relay_chain, chain, blocks, lowest_block, highest_block, untimed_blocks, missing_blocks }) => ({
      relay_chain,
      chain,
      blocks,
      lowest_block,
      highest_block,
      untimed_blocks,
      missing: missing_blocks.total,
    }),
  );
}

const someVersion = (random: Random): Version => ({
  relay_chain: random.pick(RELAYS),
  chain: random.pick(['a', 'b']),
  number: random.pick(HEIGHTS),
  time: random.pick(TIMES),
  is_deleted: random.chance(0.1) ? 1 : 0,
});

/** A load under ranks of its own; a version that came before may outrank it. */
async function insert(random: Random, versions: readonly Version[]): Promise<void> {
  await store.insert(
    blocks,
    versions.map((version) => ({ ...version, rank: String(random.whole(1, 2 ** 31)) })),
  );
}

describe('canonical blocks', () => {
  beforeEach(async () => {
    await store.run(`DROP TABLE IF EXISTS ${DATABASE}.${blocks.name} SYNC`);
    await store.run(createTable(blocks));
    await store.run(`TRUNCATE TABLE ${DATABASE}.${replacedBlocks.name}`);
  });

  test('names the hour of a height that two loaders have stored at once, at the same time', async () => {
    const version = { ...someVersion(new Random(1)), time: TIMES[0] as string, is_deleted: 0 as const };
    await insert(new Random(2), [version]);
    expect(await recordReplacedBlocks(store, [version])).toEqual([]);
    await insert(new Random(3), [version]);
    const { relay_chain, chain, time } = version;
    const hour = `${time.slice(0, 13).replace('T', ' ')}:00:00`;
    expect(await recordReplacedBlocks(store, [version])).toEqual([{ relay_chain, chain, hour }]);
  });

  test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
    'are those that all versions together name, seed %i',
    async (seed) => {
      const random = new Random(seed);
      const reader = { rows: store.rows.bind(store) };
      for (let load = 0; load < 4; load++) {
        // Loaders that store at once: each notes what it finds after its own rows are stored.
        const loads = Array.from({ length: random.whole(1, 3) }, () =>
          Array.from({ length: random.whole(1, 5) }, () => someVersion(random)),
        );
        for (const versions of loads) {
          await insert(random, versions);
          // Killed before it noted anything, it stores the same blocks again.
          if (random.chance(0.2)) await insert(random, versions);
        }
        for (const versions of random.shuffled(loads)) await recordReplacedBlocks(store, versions);
        if (random.chance(0.3)) await store.run(`OPTIMIZE TABLE ${DATABASE}.${blocks.name} FINAL`);
        expect(await read((window) => canonicalBlocks(window))).toEqual(await read(byAll));
        expect(await heightsByMonth(reader)).toEqual(await heightsByAll());
      }
    },
  );
});
