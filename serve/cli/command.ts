import type { Command } from 'commander';
import type { OperationClient } from '../operations/client.ts';
import type { Config } from '../settings.ts';

/** What a command is run with. `args` are its positional arguments, in the order of their declaration. */
export interface Invocation<Args extends readonly unknown[], Options> {
  readonly args: Args;
  readonly options: Options;
  readonly config: Config;
  /** Version of the product. */
  readonly version: string;
  /** All commands with their arguments and options. */
  readonly program: Command;
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

/** Runs work with a client of the operations and closes it afterwards. */
export async function withOperations<Result>(
  config: Config,
  work: (client: OperationClient) => Promise<Result>,
): Promise<Result> {
  const { openOperations } = await import('../operations/open.ts');
  const client = await openOperations(config);
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
