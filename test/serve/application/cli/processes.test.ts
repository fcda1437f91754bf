import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { readLockOwner } from '../../../../infra/embedded/owner.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { linesOf, run } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const BIN = join(ROOT, 'serve/chain-metrics');

/** Starts a server by a command line, and returns when it answers. */
async function started(command: string, args: readonly string[], DATA_DIR: string, settings = {}) {
  const { UV_THREADPOOL_SIZE: _, ...inherited } = process.env;
  // npx links the command into npm's cache and keeps a link of an earlier version to a file that may be gone.
  const npm_config_cache = join(place.path, 'npm');
  const env = { ...inherited, DATA_DIR, PORT: '0', LOG_LEVEL: 'info', npm_config_cache, ...settings };
  const child = spawn(command, args, { cwd: ROOT, env, stdio: 'pipe' });
  const said = { out: '', err: '' };
  child.stdout.on('data', (piece) => {
    said.out += piece;
  });
  child.stderr.on('data', (piece) => {
    said.err += piece;
  });
  await expect.poll(() => said.err, { timeout: 60_000 }).toContain('answers on');
  const server = (await readLockOwner(DATA_DIR)) as number;
  onTestFinished(() => {
    child.kill('SIGKILL');
    if (isAlive(server)) process.kill(server, 'SIGKILL');
  });
  return { child, server, said };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const ended = (child: ChildProcess) => new Promise((resolve) => child.once('close', resolve));
const gone = (pid: number) => expect.poll(() => isAlive(pid), { timeout: 30_000 }).toBe(false);

it.each([
  ['npm', ['run', '--silent', 'chain-metrics', '--', 'start']],
  ['npx', ['--no-install', 'chain-metrics', 'start']],
])('SIGTERM to %s stops the server', async (command, args) => {
  const directory = join(place.path, command);
  const { child, server, said } = await started(command, args, directory);
  const end = ended(child);
  child.kill('SIGTERM');
  await end;
  await gone(server);
  // Closed in order, not only gone.
  await expect.poll(() => said.out).toContain('"stopping"');
  expect(await readLockOwner(directory)).toBe(null);
});

it('the program becomes the server, whatever started it', async () => {
  const directory = join(place.path, 'SIGKILL');
  const { child, server } = await started(BIN, ['start'], directory);
  expect(server).toBe(child.pid);
  const end = ended(child);
  child.kill('SIGKILL');
  await end;
  expect((await run(['status'], { env: { DATA_DIR: directory } })).code).toBe(0);
});

it('says what to do where the packages are not installed', () => {
  const copy = join(place.path, 'bare', 'serve');
  mkdirSync(copy, { recursive: true });
  cpSync(BIN, join(copy, 'chain-metrics'));
  const { status, stderr } = spawnSync(join(copy, 'chain-metrics'), ['doctor'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    1,
    'chain-metrics: dependencies are not installed; run `npm ci` first\n',
  ]);
});

it('a server behind a proxy says where it listens, and links what others open', async () => {
  const settings = { PUBLIC_URL: 'https://metrics.example/' };
  const { said } = await started(BIN, ['start'], join(place.path, 'behind'), settings);
  await expect.poll(() => said.err).toContain('Stop with Ctrl-C');
  const [, listening] = /answers on (http:\/\/\S+:\d+)\n/.exec(said.err) ?? [];
  expect(said.err).toMatch(/web pages +https:\/\/metrics\.example\/\n/);
  expect(said.err).toMatch(/alerts +https:\/\/metrics\.example\/projects\n/);
  expect(said.err).toContain(` ${listening}/health/ready\n`);
});

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

it('the data directory and all that is in it are for their user only, also when they were not', async () => {
  const directory = join(place.path, 'open');
  mkdirSync(join(directory, 'store'), { recursive: true });
  chmodSync(directory, 0o755);
  expect(
    (
      await run(['users', 'create', 'ada', '--email', 'a@example.org', '--password-stdin'], {
        env: { DATA_DIR: directory },
        input: 'correct horse battery staple\n',
      })
    ).code,
  ).toBe(0);
  expect(modeOf(directory)).toBe('700');
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.name === 'store') continue;
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) expect(modeOf(path), path).toBe('600');
    if (entry.isDirectory()) expect(modeOf(path), path).toBe('700');
  }
});

it('a directory that holds things of others is left as it is, with a warning', async () => {
  const directory = join(place.path, 'shared');
  mkdirSync(directory);
  writeFileSync(join(directory, 'notes.txt'), '');
  chmodSync(directory, 0o755);
  const { child, said } = await started(BIN, ['start'], directory);
  expect(modeOf(directory)).toBe('755');
  expect(said.out).toContain('also holds notes.txt: set DATA_DIR to a separate directory');
  child.kill('SIGTERM');
  await ended(child);
});

it('an installation that was copied without its symbolic links says so', () => {
  const directory = join(place.path, 'copy');
  const check = join(directory, 'test/support/installed.js');
  mkdirSync(join(directory, 'test/support'), { recursive: true });
  const copy = spawnSync('cp', [join(ROOT, 'test/support/installed.js'), check]);
  expect(copy.status).toBe(0);
  const says = () => {
    const { status, stderr } = spawnSync(process.execPath, [check], { encoding: 'utf8' });
    return [status, linesOf(stderr)];
  };
  expect(says()).toEqual([1, ['node_modules is missing or incomplete: run `npm ci`']]);
  mkdirSync(join(directory, 'node_modules/.bin'), { recursive: true });
  writeFileSync(join(directory, 'node_modules/.bin/vitest'), '');
  expect(says()).toEqual([1, ['node_modules was copied without its symbolic links: run `npm ci`']]);
});
