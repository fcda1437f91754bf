import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { createTable, createView, landingTable, table, view } from '../../../infra/table.ts';
import type { Opened } from './opened.ts';

export const things = table({
  name: 'port_things',
  doc: 'Rows of single inserts.',
  columns: {
    id: 'UInt64',
    name: 'String',
    amount: 'Nullable(UInt128)',
    tags: 'Array(String)',
    at: "DateTime64(3, 'UTC')",
  },
  engine: 'MergeTree',
  orderBy: ['id'],
});
export const linesIn = landingTable({
  name: 'port_lines_in',
  doc: 'Landing table of staged lines.',
  columns: { sequence: 'UInt64', id: 'UInt64', payload: 'Tuple(name String, amounts Array(String))' },
});
export const lines = table({
  name: 'port_lines',
  doc: 'Rows of staged lines; the newest version of an id is canonical.',
  columns: { id: 'UInt64', name: 'String', total: 'UInt128', sequence: 'UInt64' },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['id'],
});
const lineRows = view(
  'port_lines_to_lines',
  linesIn,
  lines,
  sql`SELECT id, payload.name AS name, arraySum(arrayMap(a -> toUInt128(a), payload.amounts)) AS total,
    sequence + intDiv(0, payload.name != 'broken view') AS sequence FROM ${linesIn}`,
);

export const MAX_128 = 2n ** 128n - 1n;

export interface OpenedStore {
  store: Store;
  /** Closes the store and opens it again. */
  reopen(): Promise<void>;
}

/** Opens a store with the tables for the tests of a block, each of which starts with empty ones. */
export function useStore(open: () => Promise<Opened<Store>>): OpenedStore {
  let opened: Opened<Store>;
  const used = {
    reopen: async () => {
      if (!opened.reopen) throw new Error('a store stores rows, so it must reopen');
      used.store = await opened.reopen();
    },
  } as OpenedStore;
  beforeAll(async () => {
    opened = await open();
    used.store = opened.port;
    for (const each of [things, linesIn, lines]) await used.store.run(createTable(each));
    await used.store.run(createView(lineRows));
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    await used.store.run(sql`TRUNCATE TABLE ${things}`);
    await used.store.run(sql`TRUNCATE TABLE ${lines}`);
  });
  return used;
}
