import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawData } from '../../../ingest/raw/raw-data.ts';
import { exportRaw } from '../../../serve/application/cli/raw-exporter.ts';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { LocalClient } from '../../../serve/application/operations/client.ts';
import { guideFile } from '../../../serve/guides/guides.ts';
import { DirectoryTarget } from '../../../serve/raw-export/directory-target.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { loadDemo } from '../../support/demo.ts';
import { readyDirectory } from '../../support/pipeline.ts';
import { canInstall, keptPython } from '../../support/python.ts';
import { ROOT } from '../../support/source-files.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const NAME = 'raw-data';
const PACKAGES = ['dbt-core==1.11.16', 'dbt-duckdb==1.11.1', 'duckdb==2.0.0', 'polars==2.1.0'];
const run = promisify(execFile);

/** Prints the tables of the models as JSON. */
const TABLES = `import duckdb, json
with duckdb.connect('models.duckdb') as models:
    tables = [name for (name,) in models.execute('SHOW TABLES').fetchall()]
    rows = {name: models.execute(f'SELECT * FROM {name}') and [
        dict(zip([column[0] for column in models.description], row)) for row in models.fetchall()
    ] for name in tables}
print(json.dumps(rows, default=str))`;

/** In the morning of a day, of which nothing is compared: it is not over. */
const NOW = Date.parse('2026-11-10T03:00:00.000Z');
const DAYS_LEFT_OUT = 170;
const [FIRST, LAST] = ['2023-01-01', '2026-11-09'];

describe.runIf(canInstall(NAME, PACKAGES))('exported raw tables', () => {
  const place = temporaryDirectory();
  let pipeline: Pipeline;
  let app: FastifyInstance;

  beforeAll(async () => {
    const directory = await readyDirectory();
    pipeline = await openPipeline(readConfig({ DATA_DIR: directory.path, LOG_LEVEL: 'error' }), {
      clock: { now: () => NOW },
    });
    await loadDemo(pipeline, NOW, DAYS_LEFT_OUT);
    app = await buildServer(pipeline);
    const target = await DirectoryTarget.open(join(place.path, 'raw'));
    const client = new LocalClient(pipeline);
    const all = { tables: [...rawData.keys()], chains: [], days: {}, onProgress: () => undefined };
    await exportRaw({ client, target, ...all });
    await target.close();
    return async () => {
      await app.close();
      await pipeline.close();
      directory[Symbol.dispose]();
    };
  }, 300_000);
  afterAll(() => place[Symbol.dispose]());

  const python = async (...args: string[]): Promise<string> => {
    const env = {
      ...process.env,
      RAW_DATA: join(place.path, 'raw'),
      DUCKDB_FILE: join(place.path, 'models.duckdb'),
    };
    const options = { cwd: place.path, env, maxBuffer: 64 * 2 ** 20 };
    return (await run(keptPython(NAME), args, options)).stdout;
  };

  it('are read by the programs of the guide', async () => {
    const guide = readFileSync(guideFile('raw-data'), 'utf8');
    const programs = [...guide.matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, program = '']) => program);
    expect(programs).toHaveLength(2);
    for (const program of programs) expect(await python('-c', program)).toMatch(/polkadot/);
  });

  it('give the models of dbt the numbers that the API serves', async () => {
    const project = join(place.path, 'dbt');
    cpSync(join(ROOT, 'serve/guides/dbt'), project, { recursive: true });
    const dbt = 'import sys; from dbt.cli.main import cli; cli()';
    const flags = ['--no-send-anonymous-usage-stats', '--no-use-colors'];
    await python('-c', dbt, ...flags, 'build', '--project-dir', project, '--profiles-dir', project);
    const models: Record<string, Row[]> = JSON.parse(await python('-c', TABLES));
    for (const row of models.coretime_purchases ?? []) {
      row.timestamp = new Date(`${row.timestamp}Z`).toISOString();
    }
    for (const [model, path] of Object.entries(SERVED)) {
      const answer = await app.inject({ url: `/api/${path}?start_date=${FIRST}&end_date=${LAST}` });
      const [computed, served] = alike(models[model] ?? [], answer.json<Row[]>());
      expect(computed.length, model).toBeGreaterThan(5);
      expect(computed, model).toEqual(served);
    }
  });
});

type Row = Record<string, unknown>;
const SERVED = {
  daily_transactions: 'daily-tps',
  daily_fees: 'daily-fees',
  daily_active_accounts: 'daily-summary',
  coretime_purchases: 'coretime-purchases',
} as const;

/** The rows that both may have, with the columns of the model, in one order. */
function alike(computed: readonly Row[], served: readonly Row[]): [computed: string[], served: string[]] {
  const columns = Object.keys(computed[0] ?? {}).sort();
  const relays = new Set(served.map((row) => row.relay_chain));
  const texts = (rows: readonly Row[]) =>
    rows
      .filter(({ relay_chain, chain, date, timestamp }) => {
        const day = String(date ?? timestamp).slice(0, 10);
        return relays.has(relay_chain) && chain !== 'ecosystem' && day >= FIRST && day <= LAST;
      })
      .map((row) => JSON.stringify(columns.map((column) => row[column])))
      .sort();
  return [texts(computed), texts(served)];
}
