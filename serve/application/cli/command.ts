import { resolve } from 'node:path';
import type { Command } from 'commander';
import { holdsStore } from '../../../infra/data-directory.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Config } from '../../settings/settings.ts';
import type { OperationClient } from '../operations/client.ts';

/** What a command is run with. `args` are its positional arguments, in the order of their declaration. */
interface Invocation<Args extends readonly unknown[], Options> {
  readonly args: Args;
  readonly options: Options;
  readonly config: Config;
  /** Version of the product. */
  readonly version: string;
}

/** A command of the program. Its file declares it; what runs is imported when it runs, so that help is instant. */
export interface CliCommand {
  /** One word, or two for a command of a group: `users create`. */
  readonly name: string;
  readonly description: string;
  /** Declares arguments and options. */
  readonly args?: (command: Command) => Command;
  /** Text below the options: what is not obvious, and examples. */
  readonly help?: string;
  /** Whether the settings are read before it runs; true when absent. */
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
 * Looks whether a directory holds a store. The returned function, called once it is open, tells of one that was made
 * there: with a mistyped DATA_DIR all data would otherwise seem lost.
 */
export function watchForNewStore(directory: string): () => void {
  if (holdsStore(directory)) return () => undefined;
  return () => {
    if (!holdsStore(directory)) return;
    process.stderr.write(`chain-metrics: created a new store in ${resolve(directory)}\n`);
  };
}

/**
 * Runs work with a client of the operations and closes it afterwards. Only what brings something in makes a store where
 * none is: elsewhere DATA_DIR names the wrong directory.
 */
export async function withOperations<Result>(
  config: Config,
  work: (client: OperationClient) => Promise<Result>,
  { makesStore = false }: { readonly makesStore?: boolean } = {},
): Promise<Result> {
  const { openOperations } = await import('../operations/open.ts');
  let tellNewStore = () => {};
  const client = await openOperations(config, () => {
    if (!makesStore) throw new ProductError('store_missing', `${resolve(config.DATA_DIR)} holds no store`);
    tellNewStore = watchForNewStore(config.DATA_DIR);
  });
  tellNewStore();
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** The option of every command that reports something. */
export const jsonOption = (command: Command) =>
  command.option('--json', 'print the result as JSON, and nothing else');

/** Prints a result, as JSON where that is asked for. */
export function print(
  result: unknown,
  { json = false }: { readonly json?: boolean },
  text: () => string,
): void {
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : text());
}
