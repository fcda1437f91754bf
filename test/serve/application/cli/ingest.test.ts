import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import type { SystemStatus } from '../../../../aggregate/status/status.ts';
import type { RunReport } from '../../../../serve/application/cli/ingest-inputs.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { linesOf, run } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const env = { DATA_DIR: join(place.path, 'data'), LINE_BYTES_MAX: '400000' };

const SAMPLE = new URL('../../../../ingest/sample/', import.meta.url);
const recorded = (chain: string): string[] =>
  linesOf(gunzipSync(readFileSync(new URL(`${chain}.ndjson.gz`, SAMPLE))).toString('utf8'));

/** One directory with everything that can be wrong about input, and good blocks beside it. */
function writeInput(): string {
  const directory = join(place.path, 'input');
  mkdirSync(join(directory, 'deeper'), { recursive: true });
  const write = (name: string, content: string | Buffer) => writeFileSync(join(directory, name), content);
  const kusama = recorded('kusama');
  const polkadot = `${recorded('polkadot').join('\n')}\n`;
  write('kusama.ndjson', [kusama[0], 'no JSON', '{"height":1}', '[]', '', kusama[1]].join('\r\n'));
  write('deeper/moonbeam.jsonl.gz', gzipSync(`${recorded('moonbeam')[0]}\n`));
  write('atlantis.ndjson', `${kusama[2]}\n`);
  const packed = gzipSync(polkadot);
  write('polkadot.ndjson.gz', packed.subarray(0, packed.length - 1000));
  const zstd = zstdCompressSync(polkadot, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  write('polkadot.ndjson.zst', zstd.fill(0x55, zstd.length - 400, zstd.length - 300));
  write(
    'envelopes.json',
    [
      { schema: 'block/9', chain: 'kusama', payload: {} },
      { schema: 'block/1', chain: 'lemuria', payload: JSON.parse(kusama[3] as string) },
      {
        schema: 'snapshot/1',
        kind: 'mood',
        relay_chain: 'kusama',
        chain: 'kusama',
        as_of: '2024-01-01T00:00:00Z',
        payload: {},
      },
      { schema: 'block/1', chain: 'kusama', payload: JSON.parse(kusama[4] as string) },
      { schema: 'block/1', chain: 'kusama', payload: { filler: 'x'.repeat(500_000) } },
    ]
      .map((line) => JSON.stringify(line))
      .join('\n'),
  );
  write('notes.txt', 'not for us');
  return directory;
}

it('keeps what is good, refuses what is not, and says so', async () => {
  const directory = writeInput();
  const { code, stdout, stderr } = await run(['ingest', '--json', directory], { env });
  expect(linesOf(stderr)).toEqual([expect.stringMatching(/created a new store in .*data$/)]);
  expect(code).toBe(3);
  const report = JSON.parse(stdout) as RunReport;
  expect(report.files).toBe(6);
  expect(report.snapshots).toBe(0);
  expect(report.lines).toBe(report.blocks + report.refused_lines - ARCHIVES);

  const answer = await run(['status', '--json'], { env });
  expect(answer.code).toBe(0);
  const status = JSON.parse(answer.stdout) as SystemStatus;
  expect(status.dead_letters.total).toBe(report.refused_lines);
  expect(status.chains.map(({ chain }) => chain).sort()).toEqual(['kusama', 'moonbeam', 'polkadot']);
  expect(status.chains.find(({ chain }) => chain === 'kusama')?.blocks).toBe(3);
  expect(status.computing).toMatchObject({ touched_days_waiting: 0, failed: [] });
  const computed = status.metrics.filter(({ windows }) => windows > 0).map(({ metric }) => metric);
  expect(computed).toEqual(expect.arrayContaining(['chain_day', 'daily_fees', 'daily_tps', 'daily_uptime']));
});

/** Broken archives are refused with a letter of their own, which stands for no line. */
const ARCHIVES = 2;

it('tells people the reasons, and reads standard input', async () => {
  const [good, refused] = await Promise.all([
    run(['ingest', '--chain', 'kusama', '-'], {
      env: { DATA_DIR: join(place.path, 'other') },
      input: `${recorded('kusama').join('\n')}\n`,
    }),
    run(['ingest', join(place.path, 'input')], { env }),
  ]);
  expect(good.code, good.stderr).toBe(0);
  expect(good.stdout).toMatch(/^1 file, 22 lines in .*: 22 blocks, 0 snapshots into /);
  expect(refused.code, refused.stderr).toBe(3);
  for (const reason of [
    /× not JSON/,
    /chain: unknown atlantis/,
    /chain: unknown lemuria/,
    /schema: unknown "block\/9"/,
    /LINE_BYTES_MAX/,
    /truncated or corrupt/,
    /kind/,
  ]) {
    expect(refused.stdout).toMatch(reason);
  }
  expect(refused.stdout).toContain('chain-metrics dead-letters list');
  expect(refused.stdout).not.toContain('chain-metrics status');
});

it('knows no chain that nobody told it of', async () => {
  const { code, stderr } = await run(['ingest', '--chain', 'atlantis', '-'], { env });
  expect(code).toBe(2);
  expect(linesOf(stderr)).toEqual([expect.stringMatching(/no chain is called atlantis; .*CHAINS_FILE$/)]);
});
