import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { isatty } from 'node:tty';

/** How people name standard input among paths. */
export const STANDARD_INPUT = '-';

/** Options that take something from standard input. */
export const PASSWORD_STDIN = '--password-stdin';

/** Whether a command line wants what stands on standard input; undefined where only its command can tell. */
export function wantsStandardInput(args: readonly string[]): boolean | undefined {
  if (args.find((arg) => !arg.startsWith('-')) === 'sql') return undefined;
  return args.includes(STANDARD_INPUT) || args.includes(PASSWORD_STDIN);
}

/** Whether something may wait there that nobody types. */
export const isPiped = (): boolean => !isatty(0);

type Counted = Readable & { readonly bytesRead: number };

let held: Counted | null = null;

/**
 * The engine reads standard input by itself: bytes that wait there become rows of whatever it inserts next. So
 * this process gives its own away before the engine starts, and where it is wanted another one passes it on.
 */
export function guardStandardInput(isWanted: boolean): void {
  if (isWanted) {
    const reader = spawn('cat', { stdio: ['inherit', 'pipe', 'inherit'] });
    reader.once('error', (error) => reader.stdout.destroy(error));
    process.once('exit', () => reader.kill());
    const source = reader.stdout as unknown as Counted;
    // Node throws away what a process that has ended leaves unread: it is taken over at once, before anybody reads. An error
    // ends `taken`, and its reader hears of it.
    const taken = pipeline(source, new PassThrough(), () => undefined);
    held = Object.defineProperty(taken, 'bytesRead', { get: () => source.bytesRead }) as unknown as Counted;
  }
  // The lowest free number is what the next file gets.
  closeSync(0);
  const now = openSync('/dev/null', 'r');
  if (now !== 0) throw new Error(`standard input could not be set aside (${now})`);
}

export function standardInput(): Counted {
  if (held === null) throw new Error('standard input was not asked for');
  return held;
}
