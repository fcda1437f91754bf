import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../support/browser.ts';
import { CHROMIUM, canRun, DENO } from '../../support/needed.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { canRunPython, checkTypes, pythonProject, runPython } from './python.ts';
import {
  ANONYMOUS_PER_MINUTE,
  type AskedPath,
  MANY,
  MANY_ROWS,
  rowsOf,
  type ServedClients,
  samplesOf,
  serveClients,
} from './served.ts';
import { addModules, compile, runProgram, typescriptProject } from './typescript.ts';

const folder = temporaryDirectory();
let served: ServedClients;
/** What the programs are given. */
let given: Record<string, unknown> & { readonly asked: readonly AskedPath[] };
let expected: Record<string, object[]>;

const ANONYMOUS_REQUESTS = ANONYMOUS_PER_MINUTE + 5;
const SUM = (MANY_ROWS * (MANY_ROWS - 1)) / 2;

beforeAll(async () => {
  served = await serveClients();
  const { origin, key, token, asked } = served;
  expected = Object.fromEntries(
    await Promise.all(asked.map(async (one) => [one.path, await rowsOf(served, one)] as const)),
  );
  const inPages = asked.map(({ path, query }) => ({
    path,
    query: { ...query, limit: String(Math.ceil((expected[path]?.length ?? 0) / 3)) },
  }));
  given = { origin, key, token, asked: inPages, many: MANY, anonymousRequests: ANONYMOUS_REQUESTS };
}, 300_000);
afterAll(async () => {
  await served?.close();
  folder[Symbol.dispose]();
});

it('every path of a metric has rows for the clients', () => {
  expect(Object.keys(expected)).toHaveLength(38);
  expect(Object.values(expected).filter((rows) => rows.length === 0)).toEqual([]);
});

const ERRORS = [
  {
    status: 422,
    code: 'invalid_parameters',
    message: 'end_date: end_date is before start_date',
    issues: [{ type: 'value_error', loc: ['query', 'end_date'] }],
  },
  { status: 401, code: 'unauthorized', message: expect.stringMatching(/key/), issues: [] },
];

/** Arrow has no integer of 256 bits: gas is text in it. */
const inFrames = <Rows>(rows: Rows): Rows =>
  JSON.parse(
    JSON.stringify(rows, (key, value) => (/^gas_(limit|price)$/.test(key) && value ? String(value) : value)),
  );

describe('the TypeScript client, packed and installed in an empty project', () => {
  let project: string;
  beforeAll(async () => {
    project = await typescriptProject(folder.path);
  });

  it('is typed by the path: parameters, rows and bodies, those of all code samples too', async () => {
    const samples = await samplesOf(served, 'TypeScript');
    expect(samples.length).toBeGreaterThan(90);
    addModules(
      project,
      samples.map(([, source]) => source),
    );
    expect(await compile(project)).toBe('');
  });

  it('gives the rows of every path and of a hundred thousand on ten pages, with a key', async () => {
    const names = ['everyPath', 'manyRows', 'errors', 'project', 'bytes', 'form'];
    const answers = await runProgram(project, names, given);
    expect(answers.everyPath).toEqual(expected);
    expect(answers.manyRows).toEqual([MANY_ROWS, SUM]);
    expect(answers.errors).toMatchObject(ERRORS);
    expect(answers.project).toMatchObject({
      status: 400,
      code: 'bad_request',
      message: expect.stringMatching(/^400 Enter a name/),
      issues: [{ type: 'value_error', loc: ['request', 'name'], msg: expect.any(String) }],
    });
    expect(answers.form).toBe('invalid_grant');
    expect(answers.bytes).toEqual([...Buffer.from('PAR1')]);
    expect(served.refusals()).toBe(0);
  });

  it.runIf(canRun(DENO))('does the same in Deno', async () => {
    const { everyPath, errors } = await runProgram(project, ['everyPath', 'errors'], given, 'deno');
    expect(everyPath).toEqual(expected);
    expect(errors).toMatchObject(ERRORS);
  });

  it('waits as long as a server asks that refuses it without a key', async () => {
    const before = served.refusals();
    const { anonymous } = await runProgram(project, ['anonymous'], given);
    expect(anonymous).toEqual(Array(ANONYMOUS_REQUESTS).fill(200));
    expect(served.refusals()).toBeGreaterThan(before);
  });

  it.runIf(canRun(CHROMIUM))(
    'works in a page of another origin, and the reference shows its code samples',
    async () => {
      const { outputFiles } = await build({
        entryPoints: [`${project}/program.ts`],
        ...{ bundle: true, write: false, format: 'iife', globalName: 'program', platform: 'browser' },
      });
      const browser = await launchBrowser();
      try {
        const page = await browser.newPage();
        await page.addScriptTag({ content: outputFiles[0]?.text ?? '' });
        const call = `Promise.all([program.everyPath(given), program.errors(given), program.anonymous(given)])`;
        const onePath = given.asked.filter(({ path }) => path === '/api/daily-tps');
        const answers = await page.evaluate(
          `{ const given = ${JSON.stringify({ ...given, asked: onePath })}; ${call} }`,
        );
        expect(answers).toMatchObject([
          { '/api/daily-tps': expected['/api/daily-tps'] },
          ERRORS,
          Array(ANONYMOUS_REQUESTS).fill(200),
        ]);
        await page.goto(`${served.origin}/docs#/Metrics/daily-summary`);
        const shown = page.locator('.code-samples');
        await shown.getByText(`curl '${served.origin}/api/daily-summary?start_date=`).waitFor();
        await shown.getByText('Python', { exact: true }).click();
        await shown.getByText('client.rows("daily-summary", start_date="2025-07-14"').waitFor();
      } finally {
        await browser.close();
      }
    },
  );
});

/** Without columns of lists and objects, whose fields Parquet holds in another form. */
function flat(rows: readonly object[] = [], others: readonly object[] = []): object[] {
  const named = [...rows, ...others].flatMap((row) => Object.entries(row));
  const nested = new Set(named.filter(([, value]) => value instanceof Object).map(([name]) => name));
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !nested.has(name))));
}

describe.runIf(canRunPython())('the Python client, as a wheel in an empty environment', () => {
  const environment = temporaryDirectory();
  let python: string;
  beforeAll(async () => {
    python = await pythonProject(environment.path);
  });
  afterAll(() => environment[Symbol.dispose]());

  it('is typed by the metric: parameters and rows', async () => {
    expect(await checkTypes(python, environment.path)).toBe('');
  });

  it('gives the rows of every path, in frames with the same values, and a hundred thousand on ten pages', async () => {
    const before = served.refusals();
    const names = ['every_path', 'frames', 'libraries', 'many_rows'];
    const answers = await runPython(python, names, given);
    expect(answers.every_path).toEqual(expected);
    for (const [path, answered] of Object.entries(expected)) {
      const rows = inFrames(answered);
      const framed = (answers.frames as typeof expected)[path];
      expect(flat(framed, rows), path).toEqual(flat(rows, framed));
    }
    expect(answers.libraries).toEqual({
      types: ['date32[day][pyarrow]', 'decimal256(76, 0)[pyarrow]'],
      schema: ['Date', 'Decimal(precision=38, scale=0)'],
      planck: [true, true, true],
    });
    expect(answers.many_rows).toEqual([MANY_ROWS, SUM]);
    expect(served.refusals()).toBe(before);
  });

  it('runs the code samples of every metric, and can read those of all operations', async () => {
    const samples = (await samplesOf(served, 'Python')).map(([path, source]) => ({ path, source }));
    const isRun = ({ path }: { path: string }) => path in expected;
    const { code_samples } = await runPython(python, ['code_samples'], {
      read: samples.map(({ source }) => source),
      run: samples.filter(isRun).map(({ source }) => source),
    });
    expect(code_samples).toEqual([samples.length, 38]);
  });

  it('warns of a chain that the server does not know', async () => {
    const { unknown_chain } = await runPython(python, ['unknown_chain'], given);
    const warning = expect.stringMatching(/^polkadott: .*did you mean polkadot\? \(.*\)$/);
    expect(unknown_chain).toEqual([
      [0, 0],
      [warning, warning],
    ]);
  });

  it('waits as long as a server asks that refuses it without a key, unless it may not wait', async () => {
    const before = served.refusals();
    const names = ['anonymous', 'limits', 'errors'];
    const { anonymous, limits, errors } = await runPython(python, names, given);
    expect(anonymous).toEqual(Array(ANONYMOUS_REQUESTS).fill(1));
    expect(limits).toEqual([
      [429, 'too_many_requests', 1],
      'not there',
      "there is no metric 'daily-tp'; did you mean 'daily-tps'?",
      "unknown library 'numpy': use one of pandas, polars, pyarrow",
    ]);
    expect(errors).toEqual([
      [422, 'invalid_parameters', 'end_date: end_date is before start_date', ['end_date']],
      [401, 'unauthorized', expect.stringMatching(/key/), []],
      [404, 'not_found', expect.stringContaining('/api/nothing'), []],
      [400, 'bad_request', expect.stringMatching(/^400 Bad request: order_by /), ['order_by']],
    ]);
    expect(served.refusals()).toBeGreaterThan(before + 1);
  });
});
