import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import type { Finding } from '../../../../infra/finding.ts';
import type { RunReport } from '../../../../serve/application/cli/ingest-inputs.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { linesOf, run } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const env = { DATA_DIR: join(place.path, 'data'), PORT: '0' };
const recorded = (chain: string): string[] =>
  linesOf(
    gunzipSync(
      readFileSync(new URL(`../../../../ingest/sample/${chain}.ndjson.gz`, import.meta.url)),
    ).toString('utf8'),
  );

const fileOf = (name: string, lines: readonly string[]) => {
  const path = join(place.path, name);
  writeFileSync(path, gzipSync(`${lines.join('\n')}\n`));
  return path;
};

async function addresses(): Promise<Finding[]> {
  const { stdout } = await run(['doctor', '--json'], { env });
  return (JSON.parse(stdout) as { findings: Finding[] }).findings.filter(
    ({ check }) => check === 'addresses',
  );
}

it('warns of blocks of another chain once, tells operators of them, and forgets them when they are removed', async () => {
  const polkadot = recorded('polkadot');
  const first = fileOf('kusama-1.ndjson.gz', polkadot.slice(0, 5));
  const second = fileOf('kusama-2.ndjson.gz', polkadot.slice(5, 8));
  const wrong = await run(['ingest', first, second], { env });
  expect(wrong.code).toBe(0);
  expect(wrong.stderr).toContain(
    `${first} and 1 more file: the first address has prefix 0, that of polkadot, and addresses of kusama have 2.`,
  );
  expect(wrong.stderr.match(/^WARNING/gm)).toHaveLength(1);
  const [told, ...others] = await addresses();
  expect(others).toEqual([]);
  expect(told).toMatchObject({
    state: 'warning',
    text: expect.stringMatching(/: \d+ addresses of kusama with prefix 0, that of polkadot instead of 2$/),
  });

  const third = fileOf('kusama-3.ndjson.gz', polkadot.slice(8));
  const again = await run(['ingest', '--json', first, third], { env });
  expect((JSON.parse(again.stdout) as RunReport).foreign_addresses).toEqual([]);

  const removed = polkadot.map((line) => {
    const { number } = JSON.parse(line);
    return JSON.stringify({ schema: 'block/1', chain: 'kusama', is_deleted: true, payload: { number } });
  });
  const { stdout } = await run(['ingest', fileOf('removed.ndjson.gz', removed)], { env });
  expect(stdout).toContain(`${polkadot.length} blocks`);
  const right = fileOf('kusama.ndjson.gz', recorded('kusama'));
  expect((await run(['ingest', right], { env })).stderr).not.toContain('WARNING');
  expect(await addresses()).toMatchObject([{ state: 'ok', text: 'all have the prefix of their chain' }]);
  const counted = await run(['sql', 'SELECT count() AS n FROM blocks', '--format', 'ndjson'], { env });
  expect(JSON.parse(counted.stdout)).toEqual({ n: recorded('kusama').length });
});

it('takes the generic prefix for a habit of its source', async () => {
  const generic = fileOf('asset-hub-polkadot.ndjson.gz', recorded('westend'));
  const { stdout, stderr } = await run(['ingest', '--json', generic], { env });
  expect(stderr).toBe('');
  expect((JSON.parse(stdout) as RunReport).foreign_addresses).toEqual([
    {
      relay_chain: 'polkadot',
      chain: 'asset-hub-polkadot',
      prefix: 42,
      own_prefix: 0,
      files: 1,
      first_file: generic,
    },
  ]);
  expect(await addresses()).toMatchObject([
    { state: 'ok', text: expect.stringContaining('of asset-hub-polkadot with prefix 42, the generic one') },
  ]);
});
