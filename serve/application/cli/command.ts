import { resolve } from 'node:path';
import type { Command } from 'commander';
import { holdsStore } from '../../../infra/data-directory.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Config } from '../../settings/settings.ts';
import type { OperationClient } from '../operations/client.ts';

/** `args` are the positional arguments, in the order of their declaration. */
interface Invocation<Args extends readonly unknown[], Options> {
  readonly args: Args;
  readonly options: Options;
  readonly config: Config;
  /** Version of the product. */
  readonly version: string;
}

/** A command of the program. Its file imports the implementation only in `run`, so that help is fast. */
export interface CliCommand {
  /** One word, or two for a command of a group: `users create`. */
  readonly name: string;
  readonly description: string;
  /** Declares arguments and options. */
  readonly args?: (command: Command) => Command;
  /** Text below the options, with examples. */
  readonly help?: string;
  /** Whether the settings are read before `run`; true if absent. */
  readonly needsConfig?: boolean;
  /** Returns the exit code. */
  readonly run: (invocation: Invocation<never, never>) => Promise<number> | number;
}

interface Definition<Args extends readonly unknown[], Options> extends Omit<CliCommand, 'run'> {
  readonly run: (invocation: Invocation<Args, Options>) => Promise<number> | number;
}

export const command = <Args extends readonly unknown[] = [], Options = object>(
  definition: Definition<Args, Options>,
): CliCommand => definition as unknown as CliCommand;

/**
 * Call this before the store is opened, and the returned function afterwards. The returned function prints a message if a new
 * store was created, so that nobody takes a mistyped DATA_DIR for lost data.
 */
export function watchForNewStore(directory: string): () => void {
  if (holdsStore(directory)) return () => undefined;
  return () => {
    if (!holdsStore(directory)) return;
    process.stderr.write(`chain-metrics: created a new store in ${resolve(directory)}\n`);
  };
}

/**
 * Runs `work` with a client of the operations. Without `createsStore`, it fails if DATA_DIR contains no store: a command
 * that only reads would create an empty store in a wrong directory.
 */
export async function withOperations<Result>(
  config: Config,
  work: (client: OperationClient) => Promise<Result>,
  { createsStore = false }: { readonly createsStore?: boolean } = {},
): Promise<Result> {
  const { openOperations } = await import('../operations/open.ts');
  let reportNewStore = () => {};
  const client = await openOperations(config, () => {
    if (!createsStore)
      throw new ProductError('store_missing', `${resolve(config.DATA_DIR)} contains no store`);
    reportNewStore = watchForNewStore(config.DATA_DIR);
  });
  reportNewStore();
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

export const jsonOption = (command: Command) =>
  command.option('--json', 'print the result as JSON, and nothing else');

/** Prints a result as text, or as JSON with --json. */
export function print(
  result: unknown,
  { json = false }: { readonly json?: boolean },
  text: () => string,
): void {
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : text());
}
