import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '../infra/ports/opened.ts';
import { testEnvironment } from '../support/test-config.ts';

const MAIN = fileURLToPath(new URL('../../serve/main.ts', import.meta.url));

/** A busy machine starts many processes at once. */
const READY_MS_MAX = 120_000;

/** Whatever ends the test, its processes must not live on. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** A process of one or more roles, as an operator starts it. */
export interface RoleProcess {
  readonly child: ChildProcess;
  /** Where it answers; empty until it has started. */
  readonly url: string;
  kill(signal?: NodeJS.Signals): Promise<number | null>;
  /** What it said on standard error, the last of it. */
  said(): string;
}

/** Without a role it is a process of the embedded profile. `main` is the entry of another version. */
export async function startRole(
  role: string,
  environment: Readonly<Record<string, string>>,
  waits = true,
  main = MAIN,
): Promise<RoleProcess> {
  const child = spawn(process.execPath, [main, 'start', ...(role ? ['--role', ...role.split(' ')] : [])], {
    env: testEnvironment({ ...process.env, PORT: '0', ...environment, UV_THREADPOOL_SIZE: '16' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  living.add(child);
  child.once('exit', () => living.delete(child));
  let text = '';
  let url = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (piece) => {
      text = `${text}${piece}`.slice(-8000);
      url ||= /(http:\/\/[\w.:[\]]+)/.exec(text)?.[1] ?? '';
    });
  }
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  if (waits) {
    await until(
      `the role ${role} is ready`,
      () => {
        if (isOver()) throw new Error(`${role} ended: ${text}`);
        return url !== '';
      },
      READY_MS_MAX,
    );
  }
  return {
    child,
    get url() {
      return url;
    },
    said: () => text,
    kill: async (signal = 'SIGKILL') => {
      if (!isOver()) {
        const ended = once(child, 'exit');
        child.kill(signal);
        await ended;
      }
      return child.exitCode;
    },
  };
}
