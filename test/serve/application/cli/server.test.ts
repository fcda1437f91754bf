import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import type { SystemStatus } from '../../../../aggregate/status/status.ts';
import type { RunReport } from '../../../../serve/application/cli/ingest-inputs.ts';
import type { ResultOf } from '../../../../serve/application/operations/operations.ts';
import { socketPaths } from '../../../../serve/application/operations/socket-path.ts';
import { contentOf, differences } from '../../../support/content.ts';
import { openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { linesOf, run, serve } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
// So long that its socket cannot lie in it.
const served = { DATA_DIR: join(place.path, 'd'.repeat(100)), STOP_SECONDS_MAX: '10' };
const alone = { DATA_DIR: join(place.path, 'alone') };

const SAMPLE = fileURLToPath(new URL('../../../../ingest/sample', import.meta.url));
const RECORDED = fileURLToPath(new URL('../../../fixtures/runtime', import.meta.url));
/** Of heights 0 and 1. */
const FIRST_BLOCKS = 2;

it('serves the sample, takes orders from other processes, and stops when it is told to', async () => {
  const server = await serve(['--sample'], served);
  expect(server.said()).toMatch(/is empty: loading the sample, recorded blocks of 7 chains/);
  expect(server.said()).toMatch(/Loaded 55 blocks of asset-hub-kusama, .*, from 2019-11-29 to 2025-07-14/);
  for (const path of ['/docs', '/health/ready', '/api/status', '/api/daily-tps?relay_chain=polkadot']) {
    expect(server.said()).toContain(`${server.url}${path}`);
    expect((await fetch(`${server.url}${path}`)).status, path).toBe(200);
  }
  const example = await fetch(`${server.url}/api/daily-tps?relay_chain=polkadot`);
  expect(await example.json()).not.toEqual([]);
  for (const line of linesOf(server.logged())) expect(JSON.parse(line)).toHaveProperty('msg');

  const ingested = await run(['ingest', '--json', RECORDED], { env: served });
  const report = JSON.parse(ingested.stdout) as RunReport;
  expect(report.files).toBe(3);
  // They are of local networks, whose first blocks are not those of the chains that they are called after.
  expect(report.lines - report.blocks).toBe(FIRST_BLOCKS);
  const status = JSON.parse((await runHere(['status', '--json'], served)).stdout) as SystemStatus;
  expect(status.computing).toMatchObject({ held: false, touched_days_waiting: 0, failed: [] });
  expect(status.chains.reduce((sum, { blocks }) => sum + blocks, 0)).toBeGreaterThan(55);

  const rebuild = await runHere(['rebuild', 'DailyFees', '--json'], served);
  const rebuilt = JSON.parse(rebuild.stdout) as ResultOf<'rebuild'>;
  expect(rebuilt.metrics).toEqual(['daily_fees']);
  expect(rebuilt.windows).toBeGreaterThan(0);

  const refusals = await Promise.all([
    run(['ingest', '--chain', 'atlantis', RECORDED], { env: served }),
    run(['start'], { env: { ...served, PORT: '0' } }),
    run(['start'], { env: { DATA_DIR: join(place.path, 'third'), PORT: new URL(server.url).port } }),
  ]);
  expect(refusals.map(({ code }) => code)).toEqual([2, 1, 2]);
  expect(refusals.map(({ stderr }) => linesOf(stderr))).toEqual([
    [expect.stringMatching(/no chain is called atlantis/)],
    [expect.stringMatching(/d{100} is in use by process \d+; .*DATA_DIR/)],
    [
      expect.stringMatching(/created a new store in .*third$/),
      expect.stringMatching(/PORT=\d+: the port is in use/),
    ],
  ]);

  const started = performance.now();
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(performance.now() - started).toBeLessThan(10_000);
});

it('ends in the same rows as without a server', async () => {
  const { code } = await run(['ingest', SAMPLE, RECORDED], { env: alone });
  expect([0, 3]).toContain(code);
  const contents = [];
  for (const { DATA_DIR } of [served, alone]) {
    const pipeline = await openPipelineAt(DATA_DIR);
    await pipeline.aggregator.waitUntilComputed();
    contents.push(await contentOf(pipeline));
    await pipeline.close();
  }
  const [ofServer, ofAlone] = contents as [
    Awaited<ReturnType<typeof contentOf>>,
    Awaited<ReturnType<typeof contentOf>>,
  ];
  expect(differences(ofServer, ofAlone)).toEqual([]);
  for (const name of ['blocks', 'extrinsics', 'events', 'daily_tps', 'daily_fees', 'daily_uptime']) {
    expect(ofAlone.get(name)?.length, name).toBeGreaterThan(0);
  }
});

it('never adds the sample to what is there, and takes the place of a server that was killed', async () => {
  const killed = await serve(['--sample'], alone);
  expect(killed.said()).toContain('contains data, so the sample was not loaded');
  const [socket] = socketPaths(alone.DATA_DIR) as [string];
  expect(existsSync(socket)).toBe(true);
  expect((await killed.end('SIGKILL')).signal).toBe('SIGKILL');

  expect((await runHere(['status'], alone)).stdout).toMatch(
    new RegExp(`^data directory +${alone.DATA_DIR}: [\\d.]+ [kMG]B, [\\d.]+ [kMGT]B free$`, 'm'),
  );
  const next = await serve([], alone);
  expect((await runHere(['status'], alone)).stdout).toContain('through the server that runs on it');
  expect((await next.end('SIGINT')).code).toBe(0);
  expect(existsSync(socket)).toBe(false);
});
