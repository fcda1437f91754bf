import { HOUR_MS } from '../../../../infra/days.ts';
import { reasonOf } from '../../../../infra/errors.ts';
import { readRegistry } from '../../../../ingest/chains/registry.ts';
import type { SourceFollowerOptions } from '../../../../ingest/follow/source-follower.ts';
import type { Config } from '../../../settings/settings.ts';
import type { OperationClient } from '../../operations/client.ts';
import { parseWhole, parseWithin, sourceOptions, sourcesOption } from '../arguments.ts';
import { command, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { ingestTarget, refuseDemo } from '../ingest-target.ts';
import { type ServiceOptions, sourcesOfOptions } from '../service-plan.ts';
import { stopOnSignal } from '../stop.ts';

interface GivenOptions
  extends ServiceOptions,
    Omit<SourceFollowerOptions, 'url' | 'isNode' | 'chain' | 'concurrency' | 'force'> {
  readonly sources?: string;
  readonly json?: boolean;
}

export const follow = command<[], GivenOptions>({
  name: 'follow',
  description:
    'ingest new blocks of one chain, or of all chains in a sources file, as they are finalized, until stopped',
  args: (command) =>
    sourcesOption(sourceOptions(command), ['from'])
      .option(
        '--from <height>',
        'first height; default: the one after the highest finalized block',
        parseWhole,
      )
      .option('--best', 'also blocks that are not finalized yet; reorganisations replace them')
      .option('--snapshots', 'also the state of the chain, once a UTC day')
      .option(
        '--treasury <account...>',
        'with --snapshots: accounts whose balances of the native token are the treasury; default with a node: that of the pallet',
      )
      .option(
        '--poll-ms <milliseconds>',
        'time between two requests for the head; default: half the block time of the chain, at most 2000',
        parseWithin(10, HOUR_MS),
      )
      .option('--json', 'print each event as a line of JSON'),
  help: `If the service is unavailable, it is retried until it answers. With an empty data directory, following begins at the
finalized head; use \`chain-metrics backfill\` for earlier blocks. SIGTERM or Ctrl-C stops it; the same command continues
after the highest finalized block. While a server runs on the data directory, it does the loading.

Snapshots of a node are all kinds of state at the last block of each UTC day, and once at the start; \`gaps\` lists what
it does not give. A Sidecar gives validator_set and issuance (chains with staking), stable_holdings (asset hubs, minus what
the registry's parachains hold there), coretime_config (coretime chains) and treasury_balance (accounts given with
--treasury) at the finalized head. Kinds that it cannot provide completely are skipped; the start message lists them and
why.

With several nodes, or nodes and a Sidecar, the next one is asked if one stays unavailable. With a sources file
(\`chain-metrics help backfill\`) all its chains are followed in parallel, each in this way. Prices and locked value are fetched when a day has ended.

Examples:
  chain-metrics follow --node wss://127.0.0.1:9944
  chain-metrics follow --url http://127.0.0.1:8080 --chain polkadot
  chain-metrics follow --url http://127.0.0.1:8080 --chain coretime-polkadot --snapshots
  chain-metrics follow --url http://127.0.0.1:8080 --chain polkadot --best
  chain-metrics follow --sources sources.yaml`,
  run: async ({ options, config }) => {
    const say = options.json ? sayAsJson : sayAsText;
    const run = await followerOf(options, config, say);
    return withOperations(
      config,
      async (client) => {
        try {
          await refuseDemo(client);
          await run(client);
          say('stopped');
          return EXIT.ok;
        } catch (error) {
          say(`stopped following: ${reasonOf(error)}`);
          throw error;
        }
      },
      { makesStore: true },
    );
  },
});

type Say = (text: string) => void;

/** What follows, once the options, the file and a single service have been found to be right. */
async function followerOf(
  { sources: file, ...options }: GivenOptions,
  config: Config,
  say: Say,
): Promise<(client: OperationClient) => Promise<void>> {
  const stop = stopOnSignal();
  const { followSources } = await import('../follow-sources.ts');
  if (file !== undefined) {
    const { readSourcesFile } = await import('../../../../ingest/backfill/sources-file.ts');
    const sources = readSourcesFile(file, readRegistry(config));
    return (client) => followSources(sources, { client, config, options, stop, say });
  }
  const sources = await sourcesOfOptions(options, config);
  const [plan] = sources.chains;
  const [service, ...others] = plan?.sources.filter((source) => 'url' in source) ?? [];
  if (plan === undefined || service === undefined || others.length > 0)
    return (client) => followSources(sources, { client, config, options, stop, say });
  const { SourceFollower } = await import('../../../../ingest/follow/source-follower.ts');
  const chain = plan.chain.name;
  const follower = await SourceFollower.open({ ...options, ...service, chain }, config, stop);
  return (client) => follower.run(ingestTarget(client), say);
}

function sayAsText(text: string): void {
  process.stderr.write(`${new Date().toISOString()} ${text}\n`);
}

function sayAsJson(text: string): void {
  process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), text })}\n`);
}
