import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { testEnvironment } from '../../../support/test-config.ts';

const BIN = fileURLToPath(new URL('../../../../serve/chain-metrics', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What the program finds on standard input. */
  readonly input?: string | Buffer;
}

/** Runs the command line as a user does, and waits for its end. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const child = begin(args, options);
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.input ?? '');
  const [stdout, stderr, end] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    ended(child),
  ]);
  return { ...end, stdout, stderr };
}

export interface Server {
  readonly url: string;
  /** Everything that it told people so far. */
  readonly said: () => string;
  /** Everything that it logged so far. */
  readonly logged: () => string;
  end(signal: NodeJS.Signals): Promise<Pick<Ended, 'code' | 'signal'>>;
}

/** Starts a server on a free port and returns when it says where it answers. */
export async function serve(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Server> {
  const child = begin(['start', ...args], { env: { PORT: '0', ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const end = ended(child);
  let said = '';
  let logged = '';
  child.stdout?.on('data', (piece) => {
    logged += piece;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', (piece) => {
      said += piece;
      const found = /answers on (http:\S+)/.exec(said);
      if (found) resolve(found[1] as string);
    });
    void end.then(() => reject(new Error(`the server ended: ${said}`)));
  });
  return {
    url,
    said: () => said,
    logged: () => logged,
    end: (signal) => {
      child.kill(signal);
      return end;
    },
  };
}

export function begin(args: readonly string[], { env = {} }: RunOptions = {}): ChildProcess {
  const { UV_THREADPOOL_SIZE: _, ...inherited } = process.env;
  // The program gets only the settings of the test, and sets the size of the thread pool by itself.
  return spawn(BIN, [...args], {
    env: testEnvironment({ ...inherited, LOG_LEVEL: 'info', ...env }),
    stdio: 'pipe',
  });
}

function ended(child: ChildProcess): Promise<Pick<Ended, 'code' | 'signal'>> {
  return new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
}

/** The lines of a text, without the empty ones. */
export const linesOf = (output: string): string[] => output.split('\n').filter((line) => line.trim() !== '');
