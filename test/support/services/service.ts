import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';

/** A real service on this machine, for tests: a container where Docker works, a process of its own where not. */
export interface Service extends AsyncDisposable {
  /** Where it is reached; the same after a stop and a start. */
  readonly host: string;
  readonly port: number;
  readonly kind: 'container' | 'process';
  /** Of the process; a container has none here. */
  readonly pid?: number | undefined;
  /** Ends it as a crash would; what it kept stays. */
  stop(): Promise<void>;
  /** Starts it again on what it kept. */
  start(): Promise<void>;
  /** Stops it from answering while its connections stay, as a machine that hangs. */
  pause(): Promise<void>;
  /** Lets it go on. */
  resume(): Promise<void>;
  /** Ends it for good. */
  close(): Promise<void>;
}

const run = promisify(execFile);

export async function isInstalled(program: string): Promise<boolean> {
  return run('sh', ['-c', `command -v ${program}`]).then(
    () => true,
    () => false,
  );
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (typeof address !== 'object' || !address) throw new Error('no free port');
  return address.port;
}

export interface ProcessOptions {
  readonly port: number;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Resolves when it answers; it is asked again until then. */
  readonly answers: () => Promise<unknown>;
  /** Forgets what it kept. */
  readonly remove: () => void;
  /** Where a start takes longer than that of most services. */
  readonly startMsMax?: number;
}

const START_MS_MAX = 60_000;

/** A service as a process that ends with this one, whatever ends this one. */
export async function processService(options: ProcessOptions): Promise<Service> {
  let child: ChildProcess | undefined;
  let said = '';
  const stop = async () => {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = new Promise((done) => ending.once('exit', done));
    ending.kill('SIGKILL');
    await ended;
  };
  const start = async () => {
    said = '';
    const bound = process.platform === 'linux' && (await isInstalled('setpriv'));
    const [command, ...args] = [
      ...(bound ? ['setpriv', '--pdeathsig', 'KILL', '--'] : []),
      options.command,
      ...options.args,
    ] as [string, ...string[]];
    const started = spawn(command, args, {
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const stream of [started.stdout, started.stderr]) {
      stream?.on('data', (text) => {
        said = `${said}${text}`.slice(-4000);
      });
    }
    child = started;
    const deadline = Date.now() + (options.startMsMax ?? START_MS_MAX);
    for (;;) {
      if (started.exitCode !== null) throw new Error(`${options.command} ended at its start: ${said}`);
      if (
        await options.answers().then(
          () => true,
          () => false,
        )
      )
        return;
      if (Date.now() > deadline) {
        await stop();
        throw new Error(`${options.command} does not answer: ${said}`);
      }
      await new Promise((later) => setTimeout(later, 50));
    }
  };
  await start();
  const close = async () => {
    await stop();
    options.remove();
  };
  return {
    host: '127.0.0.1',
    port: options.port,
    kind: 'process',
    get pid() {
      return child?.pid;
    },
    stop,
    start,
    pause: async () => void child?.kill('SIGSTOP'),
    resume: async () => void child?.kill('SIGCONT'),
    close,
    [Symbol.asyncDispose]: close,
  };
}
