import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { isatty } from 'node:tty';

/** The argument that stands for standard input. */
export const STANDARD_INPUT = '-';

export const PASSWORD_STDIN = '--password-stdin';

/** Whether a command line reads standard input; undefined for `sql`, which decides itself. */
export function readsStandardInput(args: readonly string[]): boolean | undefined {
  if (args.find((arg) => !arg.startsWith('-')) === 'sql') return undefined;
  return args.includes(STANDARD_INPUT) || args.includes(PASSWORD_STDIN);
}

export const isPiped = (): boolean => !isatty(0);

type Counted = Readable & { readonly bytesRead: number };

let content: Counted | null = null;

/**
 * Replaces standard input by /dev/null before the engine starts: the engine would insert waiting bytes as rows. With
 * `keepContent`, another process reads the original input, and `standardInput` returns its content.
 */
export function detachStandardInput({ keepContent }: { readonly keepContent: boolean }): void {
  if (keepContent) {
    const reader = spawn('cat', { stdio: ['inherit', 'pipe', 'inherit'] });
    reader.once('error', (error) => reader.stdout.destroy(error));
    process.once('exit', () => reader.kill());
    const source = reader.stdout as unknown as Counted;
    // Node discards unread output of a process that has ended, so it is copied immediately. An error destroys the copy.
    const copy = pipeline(source, new PassThrough(), () => undefined);
    content = Object.defineProperty(copy, 'bytesRead', { get: () => source.bytesRead }) as unknown as Counted;
  }
  // The next opened file gets the lowest free descriptor, which is 0.
  closeSync(0);
  const descriptor = openSync('/dev/null', 'r');
  if (descriptor !== 0) throw new Error(`standard input could not be replaced (${descriptor})`);
}

export function standardInput(): Counted {
  if (content === null) throw new Error('standard input was detached without its content');
  return content;
}
