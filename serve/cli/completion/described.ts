import type { Argument, Command, Option } from 'commander';

/** What can stand in a place of the command line: words, or the path of a file. */
export type CompletedValues = readonly string[] | 'file';

export interface DescribedOption {
  /** With their dashes. */
  readonly flags: readonly string[];
  readonly meaning: string;
  /** Null where the option takes no value. */
  readonly values: CompletedValues | null;
}

/** A command as a shell needs it to complete a line. */
export interface DescribedCommand {
  /** Its words behind the name of the program; empty for the program itself. */
  readonly path: string;
  readonly meaning: string;
  readonly commands: readonly { readonly name: string; readonly meaning: string }[];
  readonly options: readonly DescribedOption[];
  readonly values: CompletedValues;
}

/** Names that only the running program knows. */
interface KnownNames {
  readonly metrics: readonly string[];
  readonly chains: readonly string[];
}

/** The program and all its commands, as they are declared. */
export function describeProgram(program: Command, known: KnownNames): DescribedCommand[] {
  const describe = (command: Command, path: string): DescribedCommand[] => {
    const commands = command.commands.map((one) => ({ name: one.name(), meaning: one.description() }));
    const help = commands.length > 0 ? [{ name: 'help', meaning: 'explain a command' }] : [];
    const described = {
      path,
      meaning: command.description(),
      commands: [...commands, ...help],
      options: [
        ...command.options.filter(({ hidden }) => !hidden).map((option) => describeOption(option, known)),
        { flags: ['-h', '--help'], meaning: 'explain a command', values: null },
      ],
      values: command.registeredArguments.flatMap((argument) => [valuesOf(argument, known)])[0] ?? [],
    };
    return [described, ...command.commands.flatMap((one) => describe(one, `${path} ${one.name()}`.trim()))];
  };
  return describe(program, '');
}

function describeOption(option: Option, known: KnownNames): DescribedOption {
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    meaning: option.description,
    values: option.required || option.optional ? valuesOf(option, known) : null,
  };
}

/** By the choices that are declared, or else by what the placeholder is called. */
function valuesOf(place: Argument | Option, { metrics, chains }: KnownNames): CompletedValues {
  if (place.argChoices !== undefined) return place.argChoices;
  const name = 'long' in place ? `${place.long} ${place.flags}` : place.name();
  if (/metric/.test(name)) return metrics;
  if (/^--relay-chain/.test(name)) return ['polkadot', 'kusama'];
  if (/^--chain/.test(name)) return chains;
  return /path|file|directory|backup/.test(name) ? 'file' : [];
}
