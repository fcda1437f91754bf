import type { CompletedValues, DescribedCommand, DescribedOption } from './described.ts';

/** A completion for fish. */
export function fishCompletion(commands: readonly DescribedCommand[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '');
  return `# Completion of chain-metrics for fish: chain-metrics completion fish > ~/.config/fish/completions/chain-metrics.fish
function __chain_metrics_path
    set -l path
    for word in (commandline -opc)[2..-1]
        set -l longer (string join ' ' -- $path $word)
        contains -- $longer ${paths.map(quoted).join(' ')}; and set path (string split ' ' -- $longer)
    end
    printf '%s\\n' $path
end
function __chain_metrics_at
    set -l path (__chain_metrics_path)
    test "$path" = "$argv[1]"
end
complete -c chain-metrics -f
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, commands, options, values }: DescribedCommand): string[] {
  const at = `complete -c chain-metrics -n ${quoted(`__chain_metrics_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ name, meaning }) => `${at} -a ${name} -d ${quoted(meaning)}`),
    ...options.map((option) => `${at} ${optionWords(option)}`),
    ...(values === 'file' || values.length > 0 ? [`${at} ${valueWords(values)}`] : []),
  ];
}

function optionWords({ flags, meaning, values }: DescribedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  return [...names, ...takenWords(values), `-d ${quoted(meaning)}`].join(' ');
}

function takenWords(values: CompletedValues | null): string[] {
  if (values === null) return [];
  if (values === 'file') return ['-r', '-F'];
  return values.length === 0 ? ['-x'] : ['-x', valueWords(values)];
}

const valueWords = (values: CompletedValues) => (values === 'file' ? '-F' : `-a ${quoted(values.join(' '))}`);

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
