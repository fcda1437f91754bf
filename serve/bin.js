#!/usr/bin/env node
// Starts the command line on the Node that the product is made for, whatever Node started this file. Three
// things must be decided before a process begins: its version, its options, and the size of libuv's thread pool, which
// the engine blocks while it works. Plain JavaScript, since an older Node has to read it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkInstallation, NODE_MAJOR } from './doctor/installation.js';
import { nodeOptions } from './node-options.js';

const here = dirname(fileURLToPath(import.meta.url));
const main = join(here, 'main.ts');
/** Without its compiled files a process needs twice the time to begin. Where nothing can be written there is none. */
const compiled = process.env.NODE_COMPILE_CACHE || join(here, '../node_modules/.cache/node');
const isRightNode = Number(process.versions.node.split('.')[0]) >= NODE_MAJOR;

const node = findNode();
const canRun = resolved('commander') !== undefined && node !== undefined;
if (!canRun && process.argv[2] === 'doctor') {
  sayWhatIsMissing();
} else if (resolved('commander') === undefined) {
  process.stderr.write('chain-metrics: the packages that it needs are not installed; run `npm ci` first\n');
  process.exitCode = 1;
} else if (node === undefined) {
  process.stderr.write(`chain-metrics: Node ${NODE_MAJOR} is not installed with it; run \`npm ci\` first\n`);
  process.exitCode = 1;
} else if (isRightNode && process.env.UV_THREADPOOL_SIZE) {
  module.enableCompileCache(compiled);
  await import('./main.ts');
} else {
  const env = {
    ...process.env,
    UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE || '16',
    NODE_COMPILE_CACHE: compiled,
    NODE_OPTIONS: nodeOptions(process.env.NODE_OPTIONS),
  };
  const argv = [...process.execArgv, main, ...process.argv.slice(2)];
  if (typeof process.execve === 'function') process.execve(node, ['chain-metrics', ...argv], env);
  else runBeside(node, argv, env);
}

function findNode() {
  if (isRightNode) return process.execPath;
  const home = dirname(resolved('node/package.json') ?? '');
  const binary = join(home, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  return existsSync(binary) ? binary : undefined;
}

/** What `doctor` says while nothing else of the program runs, in its forms for people and for machines. */
function sayWhatIsMissing() {
  const findings = checkInstallation();
  const lines = findings.flatMap(({ check, state, text, remedy }) => [
    `${state.padEnd(9)}${check.padEnd(10)}${text}`,
    ...(remedy === null ? [] : [`${' '.repeat(19)}→ ${remedy}`]),
  ]);
  const isJson = process.argv.includes('--json');
  process.stdout.write(`${isJson ? JSON.stringify({ findings }) : lines.join('\n')}\n`);
  process.exitCode = 1;
}

/** The file of an installed package. */
function resolved(name) {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    // The caller tells that the package is missing.
    return undefined;
  }
}

/** npx passes a signal to its shell only, which dies without passing it on. */
function endWithNpx(end) {
  const parent = process.ppid;
  if (process.env.npm_command !== 'exec') return;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, 500);
}

/** For a Node that cannot become another one: the child does the work, this process only stands in for it. */
function runBeside(node, argv, env) {
  // The channel closes when this process dies, however that happens: the child ends with it (`serve/cli/parent.ts`).
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
  const held = { ...env, CHAIN_METRICS_HELD: '1' };
  const child = spawn(node, argv, { argv0: 'chain-metrics', env: held, stdio });
  const forward = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward);
  endWithNpx(() => forward('SIGTERM'));
  child.on('error', (error) => {
    process.stderr.write(`chain-metrics: ${node} does not run: ${error.message}; run \`npm ci\` again\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    // Ends the way the child did, so that a shell or a supervisor sees the signal.
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeListener(name, forward);
    process.kill(process.pid, signal);
  });
}
