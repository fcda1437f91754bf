import type { CompletedValues, DescribedCommand } from './described.ts';

/** A completion for bash, which needs none of its packages. */
export function bashCompletion(commands: readonly DescribedCommand[]): string {
  return `# Completion of chain-metrics for bash: source <(chain-metrics completion bash)
_chain_metrics() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="" path="" word skip="" i
  [ "$COMP_CWORD" -gt 0 ] && prev="\${COMP_WORDS[COMP_CWORD-1]}"
  # bash takes --option=value for three words.
  if [ "$cur" = "=" ]; then cur=""
  elif [ "$prev" = "=" ]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [ -n "$skip" ]; then skip=""; continue; fi
    case "$path:$word" in
${commands.flatMap(valuedFlags).join('\n')}
      *:-*|*:=) continue ;;
${commands.flatMap(subcommandCases).join('\n')}
    esac
  done
  COMPREPLY=()
  case "$path:$prev" in
${commands.flatMap(optionValueCases).join('\n')}
  esac
  case "$path" in
${commands.map(wordCase).join('\n')}
  esac
}
# Where nothing is proposed, bash proposes files.
complete -o default -F _chain_metrics chain-metrics
`;
}

const words = (list: readonly string[]) => list.join(' ');

const valuedOptions = ({ options }: DescribedCommand) => options.filter(({ values }) => values !== null);

const flagsOf = ({ path }: DescribedCommand, flags: readonly string[]) =>
  flags.map((flag) => `'${path}:${flag}'`).join('|');

const valuedFlags = (command: DescribedCommand) =>
  valuedOptions(command).map(({ flags }) => `      ${flagsOf(command, flags)}) skip=yes ;;`);

const subcommandCases = ({ path, commands }: DescribedCommand) =>
  commands
    .filter(({ name }) => name !== 'help')
    .map(({ name }) => `      '${path}:${name}') path='${`${path} ${name}`.trim()}' ;;`);

const optionValueCases = (command: DescribedCommand) =>
  valuedOptions(command).map(
    ({ flags, values }) => `    ${flagsOf(command, flags)}) ${reply(values ?? [])}; return ;;`,
  );

const reply = (values: CompletedValues) =>
  values === 'file' ? ':' : `COMPREPLY=($(compgen -W '${words(values)}' -- "$cur"))`;

function wordCase({ path, commands, options, values }: DescribedCommand): string {
  const flags = options.flatMap((option) => option.flags);
  const names = [...commands.map(({ name }) => name), ...(values === 'file' ? [] : values)];
  return `    '${path}') COMPREPLY=($(compgen -W '${words(names)}' -- "$cur"))
      [[ "$cur" != -* ]] || COMPREPLY=($(compgen -W '${words(flags)}' -- "$cur")) ;;`;
}
