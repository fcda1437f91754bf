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

interface FollowOptions
  extends ServiceOptions,
    Omit<SourceFollowerOptions, 'url' | 'isNode' | 'chain' | 'concurrency' | 'force'> {
  readonly sources?: string;
  readonly json?: boolean;
}

export const follow = command<[], FollowOptions>({
  name: 'follow',
  description:
    'ingest new blocks of one chain, or of all chains in a sources file, as they are finalized, until stopped',
  args: (command) =>
    sourcesOption(sourceOptions(command), ['from'])
      .option(
        '--from <height>',
        'first height; default: the first one missing among the last 64 stored heights, or the one after them',
        parseWhole,
      )
      .option('--best', 'also ingest blocks that are not finalized; reorganizations replace them')
      .option('--snapshots', 'also ingest the state of the chain, once a UTC day')
      .option(
        '--treasury <account...>',
        'with --snapshots: accounts that hold the treasury in the native token; default with a node: the account of the treasury pallet',
      )
      .option(
        '--poll-ms <milliseconds>',
        'interval at which the head is requested; default: half the block time of the chain, at least 250 and at most 2000',
        parseWithin(10, HOUR_MS),
      )
      .option('--json', 'print each event as a line of JSON'),
  help: `If the service is unavailable, the command retries until it answers. On an empty data directory it starts at the finalized
head; use \`chain-metrics backfill\` for earlier blocks. SIGTERM or Ctrl-C stops it. The same command continues, and
first fetches heights that are missing among the last 64 stored ones. If a server runs on DATA_DIR, it loads the blocks.

From a node, --snapshots reads all kinds of state at the last block of each UTC day, and once at the start; \`gaps\` lists the
kinds that the node could not provide. From a Sidecar it reads, at the finalized head, validator_set and issuance (chains
with staking), stable_holdings (asset hubs, without the holdings of parachains in the registry), coretime_config (coretime
chains) and treasury_balance (the accounts of --treasury). Kinds that a Sidecar cannot provide completely are skipped; the
start message lists them with the reason.

If you pass several services and one stays unavailable, the command continues with the next. With a sources file
(\`chain-metrics help backfill\`) it follows all chains of the file in parallel, and fetches prices and locked value after
each day.

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
      { createsStore: true },
    );
  },
});

type Say = (text: string) => void;

/** Validates the options, and returns a function that starts following, the sources file and the service, if there is only one service. */
async function followerOf(
  { sources: file, ...options }: FollowOptions,
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
