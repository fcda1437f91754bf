import type { CompletedValues, DescribedCommand, DescribedOption } from './described.ts';

/** A completion for zsh, by its own `_arguments` and `_describe`. */
export function zshCompletion(commands: readonly DescribedCommand[]): string {
  return `#compdef chain-metrics
# Completion of chain-metrics for zsh: chain-metrics completion zsh > "\${fpath[1]}/_chain-metrics"
${commands.map(functionOf).join('\n')}
if [ "$funcstack[1]" = "_chain-metrics" ]; then _chain-metrics "$@"; else compdef _chain-metrics chain-metrics; fi
`;
}

const nameOf = (path: string) => ['_chain-metrics', ...path.split(' ').filter(Boolean)].join('-');

function functionOf({ path, commands, options, values }: DescribedCommand): string {
  const specs = options.map(optionSpec);
  if (commands.length === 0) {
    const rest = `'*:: :${actionOf(values)}'`;
    return `${nameOf(path)}() {\n  _arguments -s ${[...specs, rest].join(' \\\n    ')}\n}`;
  }
  const described = commands.map(({ name, meaning }) => quoted(`${name}:${meaning}`));
  const cases = commands
    .filter(({ name }) => name !== 'help')
    .map(({ name }) => `        ${name}) ${nameOf(`${path} ${name}`)} ;;`);
  return `${nameOf(path)}() {
  local line state
  _arguments -C ${[...specs, "'1: :->command'", "'*::argument:->arguments'"].join(' \\\n    ')}
  case $state in
    command)
      local -a commands=(${described.join('\n        ')})
      _describe command commands ;;
    arguments)
      case $line[1] in
${cases.join('\n')}
      esac ;;
  esac
}`;
}

function optionSpec({ flags, meaning, values }: DescribedOption): string {
  const text = `[${meaning.replaceAll(/[[\]:]/g, ' ')}]`;
  const value = values === null ? '' : `: :${actionOf(values)}`;
  const alternatives = flags.length > 1 ? `${quoted(`(${flags.join(' ')})`)}{${flags.join(',')}}` : flags[0];
  return `${alternatives}${quoted(`${text}${value}`)}`;
}

const actionOf = (values: CompletedValues) =>
  values === 'file' ? '_files' : values.length === 0 ? ' ' : `(${values.join(' ')})`;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
