import { holdsStore } from '../../../../infra/data-directory.ts';
import { isoDay } from '../../../../infra/days.ts';
import { secondsPerBlock } from '../../../../ingest/chains/chain.ts';
import { readRegistry } from '../../../../ingest/chains/registry.ts';
import type { Config } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable, formatNumber } from '../format.ts';

interface StoredHeights {
  readonly relay_chain: string;
  readonly chain: string;
  readonly lowest_block: number;
  readonly highest_block: number;
}

export const chains = command<[], { json?: boolean }>({
  name: 'chains',
  description: 'list the supported chains: names, relay chain, role, token and stored heights',
  args: jsonOption,
  help: `Every option that takes a chain accepts its name or an alias. Add chains of your own with CHAINS_FILE.

Examples:
  chain-metrics chains
  chain-metrics chains --json | jq -r '.[] | select(.relay_chain == "kusama") | .chain'`,
  run: async ({ options, config }) => {
    const stored = await storedHeights(config);
    const today = isoDay(Date.now());
    const list = readRegistry(config).chains.map((chain) => {
      const at = stored.find(
        (heights) => heights.relay_chain === chain.relay_chain && heights.chain === chain.name,
      );
      return {
        relay_chain: chain.relay_chain,
        chain: chain.name,
        aliases: chain.aliases,
        role: chain.role,
        token: chain.token,
        decimals: chain.decimals,
        block_seconds: secondsPerBlock(chain, today),
        lowest_block: at?.lowest_block ?? null,
        highest_block: at?.highest_block ?? null,
      };
    });
    print(list, options, () => {
      const head = ['relay chain', 'chain', 'role', 'token', 'stored heights', 'also called'];
      const rows = list.map((chain) => [
        chain.relay_chain,
        chain.chain,
        chain.role,
        chain.token,
        chain.lowest_block === null || chain.highest_block === null
          ? 'none'
          : `${formatNumber(chain.lowest_block)} to ${formatNumber(chain.highest_block)}`,
        chain.aliases.join(', '),
      ]);
      return `${alignedTable([headings(head), ...rows])}\n`;
    });
    return EXIT.ok;
  },
});

/** Empty without a store: the registry of chains needs none. */
async function storedHeights(config: Config): Promise<readonly StoredHeights[]> {
  if (config.PROFILE === 'embedded' && !holdsStore(config.DATA_DIR)) return [];
  return withOperations(config, async (client) => (await client.call('status', {})).chains);
}
