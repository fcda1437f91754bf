import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { EVERYTHING } from '../../aggregate/planner/plan.ts';
import { readStatus, type SystemStatus } from '../../aggregate/status/status.ts';
import { sql } from '../../infra/clickhouse/sql.ts';
import { EmbeddedStore } from '../../infra/embedded/store.ts';
import type { Pipeline } from '../../serve/compose.ts';
import { readConfig } from '../../serve/settings.ts';
import { until } from '../infra/ports/opened.ts';
import { run, serve } from '../serve/cli/program.ts';
import { contentOf, differences } from '../support/content.ts';
import { ingestAndCompute, openPipelineAt, openTestPipeline } from '../support/pipeline.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** What the version that wrote the directory answered. */
interface Recorded {
  /** Personal access token of the project's owner. */
  readonly token: string;
  readonly project: number;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly tables: Readonly<Record<string, { readonly rows: number; readonly hash: string }>>;
  readonly dead_letters: unknown;
  readonly users: unknown;
  readonly alerts: readonly object[];
}

const PATIENT_MS = 120_000;
const FIXTURES = fileURLToPath(new URL('../fixtures/data-directories/', import.meta.url));

/** Metrics whose recipes have changed are computed again after the start. */
const computed = (status: () => Promise<SystemStatus>): Promise<void> =>
  until('all is computed', async () => (await status()).computing.touched_days_waiting === 0, PATIENT_MS);

describe('a data directory of schema version 1', () => {
  const recorded: Recorded = JSON.parse(readFileSync(`${FIXTURES}1.json`, 'utf8'));
  const directory = temporaryDirectory();
  const env = { DATA_DIR: directory.path };
  beforeAll(() => void execFileSync('tar', ['xzf', `${FIXTURES}1.tar.gz`, '-C', directory.path]));
  afterAll(() => directory[Symbol.dispose]());

  test('is served with the same answers, alerts, users and dead letters', async () => {
    const server = await serve([], env);
    const answerOf = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${server.url}${path}`, { headers });
      return response.ok ? response.json() : `${response.status} ${await response.text()}`;
    };
    await computed(async () => (await answerOf('/api/status')) as SystemStatus);
    for (const [path, answer] of Object.entries(recorded.answers)) {
      expect(await answerOf(path), path).toEqual(answer);
    }
    const headers = { authorization: `Bearer ${recorded.token}` };
    expect(await answerOf(`/api/v4/projects/${recorded.project}/alerts`, headers)).toEqual(
      // Their address names the port, and later versions tell their labels.
      recorded.alerts.map((alert) => ({ ...alert, web_url: expect.any(String), labels: expect.any(Array) })),
    );
    for (const [command, answer] of Object.entries({
      users: recorded.users,
      'dead-letters': recorded.dead_letters,
    })) {
      const { stdout, stderr } = await run([command, 'list', '--json'], { env });
      expect(stderr).toBe('');
      // Later versions say more about each of them.
      expect(JSON.parse(stdout), command).toMatchObject(answer as object);
    }
    expect(await answerOf('/api/status')).toMatchObject({
      computing: { touched_days_waiting: 0, failed: [] },
    });
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  test('has the same rows in the tables that were renamed', async () => {
    const store = await EmbeddedStore.open(readConfig(env));
    try {
      for (const [name, { rows, hash }] of Object.entries(recorded.tables)) {
        const [found] = await store.rows(
          sql`SELECT count() AS rows, toString(sum(cityHash64(*))) AS hash FROM ${{ name }} FINAL`,
        );
        // New metrics have a watermark too, and metrics that are computed again have another one.
        const expected =
          name === 'watermarks'
            ? { rows: materializedMetrics.length, hash: expect.any(String) }
            : { rows, hash };
        expect(found, name).toEqual(expected);
      }
    } finally {
      await store.close();
    }
  });
});

describe('a data directory of a version that decoded blocks otherwise', () => {
  const directory = temporaryDirectory();
  beforeAll(
    () => void execFileSync('tar', ['xzf', `${FIXTURES}earlier-decoder.tar.gz`, '-C', directory.path]),
  );
  afterAll(() => directory[Symbol.dispose]());

  test('says which blocks and snapshots to ingest again, and has the rows of a fresh one after that', async () => {
    const lines = gunzipSync(readFileSync(`${FIXTURES}earlier-decoder.ndjson.gz`))
      .toString()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ line }));
    const outdated = async (pipeline: Pipeline) => {
      const { chains, outdated_snapshots } = await readStatus(pipeline.runtime, pipeline.aggregator);
      return [chains.reduce((sum, chain) => sum + chain.outdated_blocks, 0), outdated_snapshots];
    };
    const fresh = await openTestPipeline();
    await ingestAndCompute(fresh.pipeline, lines);
    expect(await outdated(fresh.pipeline)).toEqual([0, 0]);
    const expected = await contentOf(fresh.pipeline);
    const rowsOf = (table: string) => expected.get(table)?.length ?? 0;
    await fresh.close();
    const pipeline = await openPipelineAt(directory.path);
    try {
      await pipeline.aggregator.waitUntilComputed();
      expect(differences(await contentOf(pipeline), expected)).not.toEqual([]);
      expect(await outdated(pipeline)).toEqual([rowsOf('blocks'), rowsOf('snapshots') + rowsOf('prices')]);
      await ingestAndCompute(pipeline, lines);
      expect(await outdated(pipeline)).toEqual([0, 0]);
      expect(differences(await contentOf(pipeline), expected)).toEqual([]);
    } finally {
      await pipeline.close();
    }
  });
});

describe('a data directory of a version whose folds called other helpers', () => {
  const directory = temporaryDirectory();
  beforeAll(() => void execFileSync('tar', ['xzf', `${FIXTURES}earlier-folds.tar.gz`, '-C', directory.path]));
  afterAll(() => directory[Symbol.dispose]());

  test('has the rows of a rebuild after its start', async () => {
    const pipeline = await openPipelineAt(directory.path);
    try {
      await pipeline.aggregator.waitUntilComputed();
      const started = await contentOf(pipeline);
      await pipeline.aggregator.rebuild(materializedMetrics, EVERYTHING.from, EVERYTHING.until);
      expect(differences(started, await contentOf(pipeline))).toEqual([]);
    } finally {
      await pipeline.close();
    }
  });
});
