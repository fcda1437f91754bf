import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { guideFile } from '../../../serve/guides/guides.ts';
import { blocksOf } from '../../support/guide-blocks.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { canInstall, keptPython } from '../../support/python.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const NAME = 'csv-readers';
const PACKAGES = ['duckdb==2.0.0', 'pandas==3.1.1', 'polars==2.1.0'];
const run = promisify(execFile);

/** Amounts of 12345678901234567890 and 1234567890123456789 planck, on two days. */
const SUM = '13580246791358024679';

describe.runIf(canInstall(NAME, PACKAGES))('CSV', () => {
  const place = temporaryDirectory();
  const guide = readFileSync(guideFile('api'), 'utf8');
  let pipeline: TestPipeline;
  let app: FastifyInstance;

  beforeAll(async () => {
    pipeline = await openTestPipeline(undefined, { LOG_LEVEL: 'silent' });
    const blocks = readFileSync(new URL('../../fixtures/cases/P51.moonbeam.ndjson', import.meta.url), 'utf8');
    const lines = blocks.trim().split('\n');
    await ingestAndCompute(
      pipeline.pipeline,
      lines.map((line) => ({ chain: 'moonbeam', line })),
    );
    app = await buildServer(pipeline.pipeline);
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const saving = blocksOf(guide, 'sh').find(({ code }) => code.includes('-o fees.csv'));
    const script = (saving?.code ?? '').replaceAll('http://localhost:3000', url);
    await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: place.path });
  });
  afterAll(async () => {
    await app?.close();
    await pipeline?.close();
    place[Symbol.dispose]();
  });

  const python = async (program: string): Promise<string> => {
    const env = { ...process.env, TZ: 'Asia/Tokyo' };
    return (await run(keptPython(NAME), ['-c', program], { cwd: place.path, env })).stdout;
  };
  const programs = blocksOf(guide, 'python').map(({ code }) => code);

  it.each(['duckdb', 'pandas', 'polars'])(
    'is read by the program for %s: every digit, and the hours of UTC',
    async (library) => {
      const [program = '', ...others] = programs.filter((code) => code.includes(`import ${library}\n`));
      expect(others).toEqual([]);
      const shown = await python(program);
      expect(shown).toContain(SUM);
      expect(shown).toMatch(/2025-02-19 21:00:00/);
    },
  );

  it('loses what the guide says where no type is named', async () => {
    writeFileSync(join(place.path, 'late.csv'), `"planck"\n${'5\n'.repeat(30_000)}"${SUM}"\n`);
    writeFileSync(join(place.path, 'gaps.csv'), `"planck"\n"${2n ** 62n + 1n}"\n\n`);
    writeFileSync(join(place.path, 'texts.csv'), '"a","b"\n"",1\n,2\n"None",3\n');
    const shown = await python(TRAPS);
    expect(JSON.parse(shown)).toEqual({
      duckdb: ['ConversionException', [null, null, 'None'], ['', null, 'None']],
      pandas: ['float64', [true, true, true], [true, true, false]],
      polars: ['ComputeError', ['', null, 'None']],
    });
  });
});

const TRAPS = `import duckdb, json, pandas, polars
def failure(read):
    try:
        read()
    except Exception as error:
        return type(error).__name__

column = lambda rows: [text for text, _ in rows]
print(json.dumps({
    'duckdb': [
        failure(lambda: duckdb.sql("SELECT max(planck) FROM 'late.csv'").fetchall()),
        column(duckdb.sql("FROM 'texts.csv'").fetchall()),
        column(duckdb.sql("FROM read_csv('texts.csv', allow_quoted_nulls = false)").fetchall()),
    ],
    'pandas': [
        str(pandas.read_csv('gaps.csv', skip_blank_lines=False)['planck'].dtype),
        pandas.read_csv('texts.csv')['a'].isna().tolist(),
        pandas.read_csv('texts.csv', keep_default_na=False, na_values=[''])['a'].isna().tolist(),
    ],
    'polars': [
        failure(lambda: polars.read_csv('late.csv')),
        polars.read_csv('texts.csv')['a'].to_list(),
    ],
}))`;
