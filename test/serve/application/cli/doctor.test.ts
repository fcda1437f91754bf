import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Finding } from '../../../../infra/finding.ts';
import { openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { run, serve } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const free = { PORT: '0' };

async function diagnosed(env: Record<string, string>) {
  const { code, stdout } = await run(['doctor', '--json'], { env: { ...free, ...env } });
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  const of = (check: string) => findings.find((one) => one.check === check);
  const bad = findings.filter(({ state }) => state !== 'ok');
  return { code, of, bad };
}

it('finds nothing wrong before the first start, and makes nothing', async () => {
  const DATA_DIR = join(place.path, 'none');
  const { code, stdout } = await run(['doctor'], { env: { ...free, DATA_DIR } });
  expect(stdout).toMatch(/^ok {7}directory +.*does not exist yet; the first start creates it$/m);
  expect(stdout).toMatch(/^\d+ checks: \d+ ok, 0 warnings, 0 failed$/m);
  expect(code).toBe(0);
  expect(existsSync(DATA_DIR)).toBe(false);
});

it('goes on past settings that are wrong, and says what to do about each finding', async () => {
  const env = { ...free, DATA_DIR: join(place.path, 'none'), CACHE_BYTES: 'much', DATADIR: '/x' };
  const { code, stdout } = await run(['doctor'], { env });
  expect(stdout).toMatch(
    /^failed {3}settings +CACHE_BYTES=much: expected a whole number.*\n {10,}→ correct or unset it/m,
  );
  expect(stdout).toMatch(/^warning {2}settings +there is no setting DATADIR\n {10,}→ set DATA_DIR instead$/m);
  expect(stdout).toMatch(/1 warning, 1 failed$/m);
  expect(code).toBe(1);
});

it('looks at a store that no process has open, and leaves it as it is', async () => {
  const DATA_DIR = join(place.path, 'stored');
  const made = await run(['migrate', '--json'], { env: { DATA_DIR } });
  expect(JSON.parse(made.stdout)).toEqual({ is_migrated: true });
  chmodSync(DATA_DIR, 0o755);
  const whole = await diagnosed({ DATA_DIR });
  expect(whole.of('schema')?.text).toMatch(/^version \d+, matches this program$/);
  expect(whole.of('store')?.text).toMatch(/^answers; ClickHouse \d+\.\d+/);
  expect(whole.bad.map(({ check }) => check)).toEqual(['permissions']);
  // It tells of the permissions and does not change them.
  expect((await diagnosed({ DATA_DIR })).bad.map(({ check }) => check)).toEqual(['permissions']);
  chmodSync(DATA_DIR, 0o700);

  const again = await openPipelineAt(DATA_DIR);
  const { store } = again.runtime;
  await store.run("INSERT INTO chain_metrics.meta (name, value) VALUES ('schema_version', '999')");
  await again.close();
  writeFileSync(join(DATA_DIR, 'log.sqlite'), 'something else');
  const newer = await diagnosed({ DATA_DIR });
  expect(newer.of('schema')).toMatchObject({
    state: 'failed',
    text: 'version 999, written by a newer program',
  });
  expect(newer.of('damage')).toMatchObject({
    text: expect.stringMatching(/log\.sqlite: alerts .* not processed yet: file is not a database$/),
    remedy: expect.stringContaining('ask the senders to send them again'),
  });
  expect(newer.code).toBe(1);
});

it('asks the server that runs for its settings and its store', async () => {
  const DATA_DIR = join(place.path, 'served');
  const server = await serve([], {
    DATA_DIR,
    OAUTH_INSECURE_REDIRECTS: 'true',
    PUBLIC_URL: 'http://metrics.example',
  });
  const { code, of, bad } = await diagnosed({ DATA_DIR, PORT: new URL(server.url).port });
  expect(of('process')?.text).toMatch(/^a server, process \d+, has the data directory open and answers/);
  expect(of('schema')?.state).toBe('ok');
  // Those of the server, not of this command.
  expect(bad.map(({ check, state }) => `${state} ${check}`)).toEqual([
    'warning settings',
    'warning settings',
  ]);
  expect(code).toBe(0);
  const other = await diagnosed({ DATA_DIR: join(place.path, 'none'), PORT: new URL(server.url).port });
  expect(other.of('port')).toMatchObject({ state: 'failed' });
  await server.end('SIGTERM');
});
