import { Argument } from 'commander';
import { kebab } from '../../../aggregate/metric-name.ts';
import { command } from '../command.ts';
import { EXIT } from '../failure.ts';

/** The script of each shell, from the program as it is declared. */
const SHELLS = {
  bash: async () => (await import('../completion/bash.ts')).bashCompletion,
  zsh: async () => (await import('../completion/zsh.ts')).zshCompletion,
  fish: async () => (await import('../completion/fish.ts')).fishCompletion,
} as const;

export const completion = command<[shell: keyof typeof SHELLS]>({
  name: 'completion',
  description: 'print a completion script for commands, options, metrics and chains',
  args: (command) => command.addArgument(new Argument('<shell>', 'shell').choices(Object.keys(SHELLS))),
  help: `Names of metrics and chains are those of this version and of CHAINS_FILE.

Examples:
  source <(chain-metrics completion bash)                                     in ~/.bashrc
  chain-metrics completion zsh > "\${fpath[1]}/_chain-metrics"
  chain-metrics completion fish > ~/.config/fish/completions/chain-metrics.fish`,
  run: async ({ args: [shell], config, program }) => {
    const { describeProgram } = await import('../completion/described.ts');
    const { metrics } = await import('../../../aggregate/metrics/index.ts');
    const { namesOf, readRegistry } = await import('../../../ingest/chains/registry.ts');
    const served = metrics.filter(({ endpoints }) => endpoints.length > 0);
    const commands = describeProgram(program, {
      metrics: served.map(({ name }) => kebab(name)),
      chains: namesOf(readRegistry(config)),
    });
    process.stdout.write((await SHELLS[shell]())(commands));
    return EXIT.ok;
  },
});
