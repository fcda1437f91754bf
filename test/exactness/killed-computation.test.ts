import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import type { ProcessRole } from '../../serve/settings/process-roles.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { History } from '../generator/history.ts';
import { ANSWERS, type Answer } from '../reference/answers.ts';
import { type Input, type InputLine, readLines } from '../reference/input.ts';
import { difference, exactRows } from '../support/compared.ts';
import { Mirror } from '../support/mirror.ts';
import type { Row } from '../support/served.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHILD = fileURLToPath(new URL('killed-computation.ts', import.meta.url));

const { lines } = new History(5, { blocks: 60 });
const half = Math.floor(lines.length / 2);
const before = readLines(lines.slice(0, half));
const after = readLines(lines);

/** Metrics of several levels, in SQL and folded. */
const LEVELS = ANSWERS.filter(({ path }) =>
  ['daily-tps', 'daily-summary', 'explorer/network-stats', 'daily-gov-referenda-results'].includes(path),
);

const directory = temporaryDirectory();
const computed = join(directory.path, 'computed');

async function loadInChild(into: string, some: readonly InputLine[], moment: string): Promise<void> {
  const file = `${into}.json`;
  writeFileSync(file, JSON.stringify(some));
  const child = spawn(process.execPath, [CHILD, into, file, moment], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, UV_THREADPOOL_SIZE: '16', TZ: 'UTC' },
  });
  const [errors, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect({ code, signal }, errors).toEqual(
    moment === '' ? { code: 0, signal: null } : { code: null, signal: 'SIGKILL' },
  );
}

let mirror: Mirror;
beforeAll(async () => {
  await loadInChild(computed, lines.slice(0, half), '');
  mirror = await withServer(computed, ['serve'], (app) => Mirror.pull(reading(app)));
});
afterAll(() => directory[Symbol.dispose]());

interface Claimed {
  readonly rows: Row[];
  readonly pendingFrom: string | undefined;
  readonly coverage: string | undefined;
  readonly asOf: string | undefined;
}

async function answerOf(app: FastifyInstance, url: string): Promise<Claimed> {
  const answer = await app.inject({ url });
  expect(answer.statusCode, url).toBe(200);
  const header = (name: string) => answer.headers[name] as string | undefined;
  return {
    rows: exactRows(answer.body) as Row[],
    pendingFrom: header('x-pending-from'),
    coverage: header('x-coverage'),
    asOf: header('x-data-as-of'),
  };
}

const newestOf = (input: Input) =>
  input.blocks
    .flatMap(({ time }) => (time === null ? [] : [new Date(time).toISOString()]))
    .sort()
    .at(-1) ?? '';

/** What the headers of all answers claim that their rows do not hold; and how many paths are pending. */
async function falseClaims(
  app: FastifyInstance,
  answers: readonly Answer[],
): Promise<{ wrong: string[]; pending: number }> {
  const wrong: (string | null)[] = [];
  let pending = 0;
  for (const { path, query, rows: reference } of answers) {
    const url = `/api/${path}${query}`;
    const { rows, pendingFrom, coverage, asOf } = await answerOf(app, url);
    // A kill before the watermarks leaves rows that hold everything, and are computed once more.
    if (pendingFrom === undefined || (asOf !== undefined && asOf > newestOf(before)))
      wrong.push(await difference({ exactRows: async () => rows }, url, reference(after) as readonly Row[]));
    if (pendingFrom === undefined) continue;
    pending++;
    if (coverage !== 'partial') wrong.push(`${url}: ${coverage} while rows are pending`);
  }
  return { wrong: wrong.filter((one) => one !== null), pending };
}

async function withServer<T>(
  path: string,
  roles: readonly ProcessRole[] | undefined,
  use: (app: FastifyInstance, pipeline: Pipeline) => Promise<T>,
): Promise<T> {
  const config = readConfig({ DATA_DIR: path, ANONYMOUS_PER_MINUTE: '0', ANONYMOUS_PER_DAY: '0' });
  const pipeline = await openPipeline(config, roles ? { roles: new Set(roles) } : {});
  const app = await buildServer(pipeline);
  try {
    return await use(app, pipeline);
  } finally {
    await app.close();
    await pipeline.close();
  }
}

const reading = (app: FastifyInstance) => async (url: string) => (await app.inject({ url })).json();

/** The tables before whose writing the process ends. */
it.each(['loaded', 'daily_tps', 'computed_chains', 'watermarks'])(
  'after a kill at "%s" answers claim only what their rows hold, before, while and after the rest is computed; a copy that pulls what changed is equal then',
  async (moment) => {
    const path = join(directory.path, moment);
    cpSync(computed, path, { recursive: true, verbatimSymlinks: true });
    await loadInChild(path, lines.slice(half), moment);
    await withServer(path, ['serve'], async (app) => {
      const { wrong, pending } = await falseClaims(app, ANSWERS);
      expect(wrong).toEqual([]);
      expect(pending).toBeGreaterThan(0);
      // The process takes requests and says what is pending.
      expect((await app.inject({ url: '/health/ready' })).statusCode).toBe(200);
    });
    await withServer(path, undefined, async (app, { runtime }) => {
      for (let isPendingYet = true; isPendingYet; ) {
        const { wrong, pending } = await falseClaims(app, LEVELS);
        expect(wrong).toEqual([]);
        isPendingYet = pending > 0;
        await pause(100);
      }
      expect((await falseClaims(app, ANSWERS)).wrong).toEqual([]);
      await runtime.queue.idle('rounds');
      const copy = mirror.copy();
      expect((await copy.follow(reading(app))).length).toBeGreaterThan(0);
      expect(await copy.differences(reading(app))).toEqual([]);
    });
  },
);
