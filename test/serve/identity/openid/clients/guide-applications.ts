import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { guideBlocks } from '../../../../support/guide-blocks.ts';
import { ROOT } from '../../../../support/source-files.ts';

const START_MS_MAX = 60_000;

/** A program of the guide in a file of its own, with the values of a test in place of those that readers replace. */
export function writeProgram(
  directory: string,
  [language, kind]: readonly [string, string],
  name: string,
  values: Readonly<Record<string, string>>,
  guide = 'sign-in',
): string {
  const [code = ''] = guideBlocks(guide, kind, language);
  const path = join(directory, name);
  writeFileSync(
    path,
    Object.entries(values).reduce((text, [from, to]) => text.replaceAll(from, to), code),
  );
  return path;
}

/** A directory whose programs find the packages of this project. */
export function programDirectory(): { readonly path: string } & Disposable {
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const path = mkdtempSync(join(cache, 'sign-in-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Starts a program and waits until it answers on the port. */
export async function startProgram(
  [command, ...args]: readonly [string, ...string[]],
  port: number,
  env: Readonly<Record<string, string>>,
): Promise<AsyncDisposable> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text;
    });
  }
  const exit = once(child, 'exit');
  const deadline = Date.now() + START_MS_MAX;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`${command} does not answer: ${output}`);
    }
    await new Promise((later) => setTimeout(later, 50));
  }
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

const answers = (port: number): Promise<boolean> =>
  fetch(`http://localhost:${port}/`, { redirect: 'manual' }).then(
    () => true,
    () => false,
  );

export async function listen(
  listener: RequestListener,
  port = 0,
): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer(listener);
  server.listen(port, 'localhost');
  await once(server, 'listening');
  const close = async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: close };
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  await using server = await listen(() => undefined);
  return server.port;
}
