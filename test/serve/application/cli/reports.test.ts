import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import type { ChainCoverage } from '../../../../aggregate/status/status.ts';
import { exportRows } from '../../../../serve/application/cli/commands/export.ts';
import { readConfig } from '../../../../serve/settings/settings.ts';
import { madeBlock, madeExtrinsic } from '../../../ingest/made.ts';
import { rooted } from '../../../support/rooted.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { begin, linesOf, run, serve } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const env = { DATA_DIR: join(place.path, 'data'), STOP_SECONDS_MAX: '10' };

const block = (number: number, day: string | null) => {
  const now = day === null ? {} : { now: String(Date.parse(`${day}T12:00:00Z`) + number * 6000) };
  return JSON.stringify(
    rooted(
      madeBlock(number, [], { extrinsics: [madeExtrinsic('timestamp.set', { args: now })] }),
      'polkadot',
    ),
  );
};

it('refuses to export what does not exist, or binary to a terminal', async () => {
  const wrong: [args: string[], says: RegExp][] = [
    [['daily-feet'], /no metric is called daily-feet: did you mean daily-fees\?$/m],
    [['chain-day'], /no metric is called chain-day/],
    [['nothing-known'], /no metric is called nothing-known; use one of .*daily-fees/],
    [['daily-fees', '--chain', 'polkadt'], /no chain is called polkadt: did you mean polkadot\?/],
    [
      ['explorer/network-stats'],
      /network-stats needs --chain: it is computed on request, one chain at a time/,
    ],
    [['daily-fees', '--chain', 'atlantis'], /no chain is called atlantis/],
    [
      ['daily-fees', '--chain', 'kusama', '--relay-chain', 'polkadot'],
      /no chain of polkadot is called kusama/,
    ],
    [['daily-tps', '--chain', 'westend'], /daily-tps covers only chains of polkadot, kusama/],
    [['daily-tps', '--relay-chain', 'westend'], /--relay-chain westend: daily-tps covers only polkadot/],
    [
      ['explorer/network-stats', '--chain', 'polkadot', '--from', '2024-01-01'],
      /--from and --until do not apply/,
    ],
    [['daily-fees', '--from', '2024-01-02', '--until', '2024-01-01'], /--until 2024-01-01 is before --from/],
    [['daily-fees', '--format', 'xml'], /Allowed choices are json, csv, ndjson, parquet, arrow\./],
  ];
  for (const [args, says] of wrong) {
    const { code, stderr } = await runHere(['export', ...args], env);
    expect(stderr, args.join(' ')).toMatch(says);
    expect(code, args.join(' ')).toBe(2);
  }
  const output = join(place.path, 'schema.json');
  await exportRows.run({
    args: ['daily-fees'],
    options: { schema: true, output },
    config: readConfig(env),
    version: '',
  } as never);
  const schema = JSON.parse(readFileSync(output, 'utf8'));
  expect(schema.fields[0]).toMatchObject({ name: 'relay_chain', title: 'Relay chain' });
  expect(existsSync(env.DATA_DIR)).toBe(false);
  const { isTTY } = process.stdout;
  process.stdout.isTTY = true;
  const parquet = exportRows.run({
    args: ['daily-fees'],
    options: { format: 'parquet' },
    config: readConfig(env),
    version: '',
  } as never);
  await expect(parquet).rejects.toThrow(/parquet is a binary format, .*: use --output FILE or a pipe/);
  process.stdout.isTTY = isTTY;
});

it('exports what the API answers, through a server and alone, and lists the gaps', async () => {
  const lines = [
    block(1, '2024-03-01'),
    block(2, '2024-03-01'),
    block(5, '2024-03-02'),
    block(9, '2024-03-05'),
    block(10, null),
  ];
  const ingested = await run(['ingest', '--chain', 'polkadot', '-'], { env, input: `${lines.join('\n')}\n` });
  // So little that whoever passes it on has ended before it is read.
  expect(ingested).toMatchObject({ code: 0, stdout: expect.stringMatching(/: 5 blocks/) });
  const server = await serve([], env);
  const rendered = new Map<string, Buffer>();
  const exports: [metric: string, path: string, options: string[]][] = [
    ['DailyFees', 'daily-fees?format=csv', []],
    [
      'daily_summary',
      'daily-summary?format=ndjson&relay_chain=polkadot&start_date=2024-01-01&end_date=2024-12-31',
      ['--format', 'ndjson', '--relay-chain', 'polkadot'],
    ],
    [
      '/api/daily-uptime',
      'daily-uptime?format=json&chain=polkadot&start_date=2024-03-01&end_date=2024-03-02',
      ['--format', 'json', '--chain', 'polkadot-relay', '--from', '2024-03-01', '--until', '2024-03-02'],
    ],
    [
      'explorer/recent-extrinsics',
      'explorer/recent-extrinsics?format=csv&chain=polkadot',
      ['--chain', 'polkadot'],
    ],
  ];
  for (const [metric, path, options] of exports) {
    const answer = await (await fetch(`${server.url}/api/${path}`)).text();
    expect(linesOf(answer).length, path).toBeGreaterThan(0);
    expect((await run(['export', metric, ...options], { env })).stdout, path).toBe(answer);
    rendered.set(metric, Buffer.from(answer));
  }
  const gaps = await runHere(['gaps', '--chain', 'polkadot-relay', '--json'], env);
  await exportsRawTables();
  expect((await server.end('SIGTERM')).code).toBe(0);

  const file = join(place.path, 'fees.csv');
  expect((await runHere(['export', 'daily-fees', '--output', file], env)).stderr).toMatch(/fees\.csv: \d+ B/);
  expect(readFileSync(file)).toEqual(rendered.get('DailyFees'));
  const parquet = join(place.path, 'fees.parquet');
  await runHere(['export', 'daily-fees', '--output', parquet], env);
  expect(readFileSync(parquet).subarray(0, 4).toString()).toBe('PAR1');
  const nowhere = await runHere(['export', 'daily-fees', '--output', '/nowhere/fees.csv'], env);
  expect(linesOf(nowhere.stderr)).toEqual([expect.stringMatching(/\/nowhere\/fees.csv cannot be written/)]);

  const [polkadot] = JSON.parse(gaps.stdout) as ChainCoverage[];
  expect(polkadot?.missing_blocks.ranges).toEqual([
    { from: 3, to: 4 },
    { from: 6, to: 8 },
  ]);
  const { stdout } = await runHere(['gaps'], env);
  expect(stdout).toMatch(/^polkadot +1 to 10 +5 +0 +2024-03-01 to 2024-03-05 +\d +3 +1$/m);
  expect(stdout).toMatch(/^ {2}6 to 8 +chain-metrics backfill --url URL --chain polkadot --from 6 --to 8$/m);
  expect(stdout).toMatch(/days without a price of DOT.*\n {2}2024-03-01 to 2024-03-02\n {2}2024-03-05$/m);
  expect(stdout).toMatch(/1 block has no timestamp/);
  const none = await runHere(['gaps', '--chain', 'kusama'], env);
  expect(none.stdout).toMatch(/^No blocks of kusama are stored yet\. .*ingest/);
});

it('says that rows of days are left out that the path does not serve', async () => {
  const own = { DATA_DIR: join(place.path, 'early') };
  const input = `${block(101, '2022-12-31')}\n`;
  expect((await run(['ingest', '--chain', 'moonbeam', '-'], { env: own, input })).code).toBe(0);
  const told = async (...of: string[]) => linesOf((await run(['export', ...of], { env: own })).stderr);
  const begins = 'daily-fees begins on 2023-01-01 and has no rows of earlier days';
  expect(await told('daily-fees')).toEqual([begins]);
  expect(await told('daily-fees', '--chain', 'polkadot')).toEqual([
    'no rows: no block of polkadot is stored; `chain-metrics chains` shows the stored heights',
  ]);
});

/** Through the server that runs: killed in the middle, once more, and then there is nothing to do. */
async function exportsRawTables(): Promise<void> {
  const query = 'SELECT max(number) AS highest FROM blocks';
  expect((await run(['sql', '--format', 'ndjson', query], { env })).stdout).toBe('{"highest":9}\n');
  const raw = join(place.path, 'raw');
  const filesIn = () =>
    existsSync(raw)
      ? readdirSync(raw, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.parquet'))
      : [];
  const killed = begin(['export-raw', '--to', raw], { env });
  while (filesIn().length === 0) await setTimeout(1);
  killed.kill('SIGKILL');
  const before = filesIn().length;
  const written = JSON.parse((await runHere(['export-raw', '--to', raw, '--json'], env)).stdout);
  // A file that was moved to its place, but not noted before the kill, is written again.
  expect(written.tables.blocks.written + written.tables.blocks.unchanged).toBe(3);
  expect(written.tables.blocks.unchanged).toBeGreaterThanOrEqual(Math.min(3, before) - 2);
  expect(filesIn().sort()).toEqual(
    ['blocks', 'events', 'extrinsics'].flatMap((table) =>
      ['01', '02', '05'].map((day) => `${table}/chain=polkadot/date=2024-03-${day}/part-0.parquet`),
    ),
  );
  const again = await runHere(['export-raw', '--to', raw], env);
  // A busy machine takes long enough for lines of progress.
  const lines = linesOf(again.stderr).filter((line) => !/^exporting \d+ %/.test(line));
  expect([again.code, lines]).toEqual([0, []]);
  expect(again.stdout).toMatch(/raw: 0 files written \(0 rows, 0 B\), 9 unchanged, in /);
  const wrong = await runHere(['export-raw', 'metrics', '--to', raw], env);
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/blocks, extrinsics, events, calls/),
  });
}
