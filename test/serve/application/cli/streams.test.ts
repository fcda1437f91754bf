import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { run } from './program.ts';

const PROGRAM = fileURLToPath(new URL('../../../../serve/chain-metrics', import.meta.url));
const place = temporaryDirectory();
beforeAll(async () => (await openPipelineAt(place.path)).close());
afterAll(() => place[Symbol.dispose]());

/** Runs a line of a shell, in which `$P` is the program. */
function shell(line: string) {
  const { UV_THREADPOOL_SIZE: _, ...inherited } = process.env;
  const env = { ...inherited, P: PROGRAM, DATA_DIR: place.path };
  const { status, stdout, stderr } = spawnSync('bash', ['-c', `set -o pipefail; ${line}`], {
    env,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('a query of sql', () => {
  it.each([[['sql']], [['sql', '-']]])('is read from standard input by %j', async (args) => {
    const { code, stdout } = await run(args, { env: { DATA_DIR: place.path }, input: 'SELECT 6 * 7 AS n' });
    expect([code, stdout]).toEqual([0, '"n"\n42\n']);
  });

  it('is answered with every digit in a table', async () => {
    const query = "SELECT toUInt128('340282366920938463463374607431768211455') AS amount, 0.5 AS ratio";
    const { stdout } = await run(['sql', '--format', 'table', query], { env: { DATA_DIR: place.path } });
    expect(stdout).toMatch(/^340282366920938463463374607431768211455 +0\.5$/m);
  });

  it('is asked for where there is none', async () => {
    const { code, stderr } = await run(['sql'], { env: { DATA_DIR: place.path } });
    expect([code, stderr]).toEqual([2, expect.stringContaining('pass a query')]);
  });
});

describe('standard output', () => {
  it.each(['status', 'gaps --json', 'sql "SELECT 1"', 'settings'])(
    'may be closed before %s writes to it',
    (command) => {
      expect(shell(`$P ${command} | true`).status).toBe(0);
    },
  );

  it.each(['status', 'check --json', 'sql "SELECT 1"', 'export daily-tps', 'settings'])(
    'that is full fails %s',
    (command) => {
      const { status, stderr } = shell(`$P ${command} > /dev/full`);
      expect([status, stderr]).toEqual([1, expect.stringContaining('standard output cannot be written')]);
    },
  );
});
