import { cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EmbeddedStore } from '../../../../infra/embedded/store.ts';
import { sql } from '../../../../infra/sql.ts';
import { extrinsics } from '../../../../ingest/raw/tables.ts';
import { readConfig } from '../../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { run, serve } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const KUSAMA = fileURLToPath(new URL('../../../../ingest/sample/kusama.ndjson.gz', import.meta.url));

/** Filled once; every test has a copy. */
const WHOLE = join(place.path, 'whole');
/** In it, the directories of the parts of the extrinsics. */
let parts: readonly string[];
let wholeRows: string;
beforeAll(async () => {
  expect((await runHere(['ingest', KUSAMA], { DATA_DIR: WHOLE })).code).toBe(0);
  wholeRows = await rowsOf(WHOLE);
  const store = await EmbeddedStore.open(readConfig({ DATA_DIR: WHOLE }));
  const found = await store.rows<{ path: string }>(
    sql`SELECT path FROM system.parts WHERE active AND table = 'extrinsics' AND rows > 0 ORDER BY rows DESC`,
  );
  await store.close();
  parts = found.map(({ path }) => relative(WHOLE, path));
});

/** A data directory with blocks, and the directories of the parts of its extrinsics. */
function filled(name: string): { DATA_DIR: string; parts: string[] } {
  const DATA_DIR = join(place.path, name);
  cpSync(WHOLE, DATA_DIR, { recursive: true, verbatimSymlinks: true });
  return { DATA_DIR, parts: parts.map((part) => join(DATA_DIR, part)) };
}

/** The files of a part that hold its columns, largest first. */
const columnFiles = (part: string): string[] =>
  readdirSync(part)
    .filter((name) => name.endsWith('.bin'))
    .map((name) => join(part, name))
    .sort((a, b) => statSync(b).size - statSync(a).size);

interface Status {
  readonly damage: readonly { part: string; file: string; lost: string; advice: string }[];
}
const statusOf = async (DATA_DIR: string): Promise<Status> =>
  JSON.parse((await runHere(['status', '--json'], { DATA_DIR })).stdout);

const rowsOf = async (DATA_DIR: string) =>
  (await run(['sql', 'SELECT count(), sum(cityHash64(args)) FROM extrinsics'], { env: { DATA_DIR } })).stdout;

it('a directory that is whole is not damaged, whatever ended the process before', async () => {
  const { DATA_DIR } = filled('killed');
  const server = await serve([], { DATA_DIR });
  expect(await (await fetch(`${server.url}/health/ready`)).json()).toEqual({ status: 'ok' });
  await server.end('SIGKILL');
  expect((await statusOf(DATA_DIR)).damage).toEqual([]);
  const { code, stdout } = await run(['check'], { env: { DATA_DIR } });
  expect(stdout).toMatch(/^\d+ tables, \d+ parts read: nothing is damaged\.$/m);
  expect(code).toBe(0);
});

it('a part of a table that is truncated is told at the start, by status, ready and metrics', async () => {
  const { DATA_DIR, parts } = filled('truncated');
  for (const part of parts) truncateSync(columnFiles(part)[0] as string, 3);
  const server = await serve([], { DATA_DIR });
  const ready = await fetch(`${server.url}/health/ready`);
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'degraded' }]);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(Number(/^chain_metrics_damage (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  expect(server.logged()).toMatch(/"level":50.*stored data are damaged/);
  await server.end('SIGTERM');

  const { damage } = await statusOf(DATA_DIR);
  expect(damage).toContainEqual(
    expect.objectContaining({
      part: 'store',
      lost: 'rows of table extrinsics: the part cannot be read',
      advice: expect.stringContaining('restore the data directory from a backup'),
    }),
  );
  expect(damage).toHaveLength(parts.length);
  expect((await runHere(['status'], { DATA_DIR })).stdout).toMatch(/^DAMAGED +\d+ faults?;/m);
  // It is told until an operator has dealt with it, and not more often.
  expect((await statusOf(DATA_DIR)).damage).toEqual(damage);
  expect((await runHere(['check'], { DATA_DIR })).code).toBe(1);
  for (const { file } of damage) rmSync(file, { recursive: true });
  expect((await statusOf(DATA_DIR)).damage).toEqual([]);
  // The same blocks again bring the rows back, also after the operator has deleted the parts.
  expect((await runHere(['ingest', KUSAMA], { DATA_DIR })).code).toBe(0);
  expect(await rowsOf(DATA_DIR)).toEqual(wholeRows);
});

it('a merged part that is truncated is no damage where the parts it was made of are there', async () => {
  const { DATA_DIR } = filled('merged');
  const merged = join(place.path, 'merged-and-cut');
  const store = await EmbeddedStore.open(readConfig({ DATA_DIR }));
  // Of one month, so that they are merged.
  await store.run(sql`INSERT INTO ${extrinsics} SELECT * FROM ${extrinsics}
    WHERE toYYYYMM(time) = (SELECT max(toYYYYMM(time)) FROM ${extrinsics})`);
  await store.run(sql`OPTIMIZE TABLE ${extrinsics} FINAL`);
  const [part] = await store.rows<{ path: string }>(
    sql`SELECT path FROM system.parts WHERE active AND table = 'extrinsics' AND min_block_number < max_block_number`,
  );
  // As a loss of power leaves them: a process that ends deletes what was merged.
  cpSync(DATA_DIR, merged, { recursive: true, verbatimSymlinks: true });
  await store.close();
  truncateSync(
    columnFiles(join(merged, relative(DATA_DIR, (part as { path: string }).path)))[0] as string,
    3,
  );
  expect((await statusOf(merged)).damage).toEqual([]);
  // It would count when the parts that it was made of are gone.
  const names = readdirSync(merged, { recursive: true, encoding: 'utf8' });
  expect(names.filter((name) => name.includes('/detached/'))).toEqual([]);
  expect(await rowsOf(merged)).not.toBe('');
});

it('check finds a byte that changed within a part', async () => {
  const { DATA_DIR, parts } = filled('flipped');
  const file = columnFiles(parts[0] as string)[0] as string;
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
  writeFileSync(file, bytes);
  const { code, stdout } = await runHere(['check'], { DATA_DIR });
  expect(stdout).toContain(parts[0]);
  expect(stdout).toMatch(/lost: some of \d+ rows of table extrinsics.*[Cc]hecksum/);
  expect(code).toBe(1);
});

it('staged input that is damaged is set aside and told, and every command runs', async () => {
  const { DATA_DIR } = filled('spooled');
  const spool = join(DATA_DIR, 'spool');
  writeFileSync(
    join(spool, '000001700000000-000000001-blocks_in.ndjson'),
    '{"sequence":0,"relay_chain":"polk\n',
  );
  const [found, ...others] = (await statusOf(DATA_DIR)).damage;
  expect(others).toEqual([]);
  expect(found).toMatchObject({ part: 'spool', lost: '34 B of input that was read but not loaded' });
  expect(readFileSync(found?.file as string, 'utf8')).toContain('polk');
  expect((await runHere(['ingest', KUSAMA], { DATA_DIR })).code).toBe(0);
  rmSync(found?.file as string);
  expect((await statusOf(DATA_DIR)).damage).toEqual([]);
});
