import { DAY_MS } from '../../../../infra/days.ts';
import { reasonOf } from '../../../../infra/errors.ts';
import type { ChainBackfill } from '../../../../ingest/backfill/chain-backfill.ts';
import { edgeOf } from '../../../../ingest/backfill/edges.ts';
import type { Sources } from '../../../../ingest/backfill/sources-file.ts';
import { readRegistry } from '../../../../ingest/chains/registry.ts';
import type { Config } from '../../../settings/settings.ts';
import type { OperationClient } from '../../operations/client.ts';
import { parseHeightOrDay, sourceOptions, sourcesOption } from '../arguments.ts';
import { backfillTarget, type Feeds, openFeeds } from '../backfill-feeds.ts';
import {
  describePlan,
  exitCodeOf,
  reportOfChain,
  reportOfValues,
  type SourcesReport,
  textOfAll,
  textOfOne,
  valueTable,
} from '../backfill-report.ts';
import { FeedLoad, loadInRounds, METRICS } from '../backfill-rounds.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { refuseDemo } from '../ingest-target.ts';
import { type ServiceOptions, sourcesOfOptions } from '../service-plan.ts';
import { openDisplays } from '../several-displays.ts';
import { stopOnSignal } from '../stop.ts';

interface BackfillOptions extends ServiceOptions {
  readonly sources?: string;
  readonly from: number | string;
  /** The finalized head of the source when absent. */
  readonly to?: number | string;
  /** The state at the end of each day, in place of blocks. */
  readonly snapshots?: boolean;
  readonly treasury?: readonly string[];
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export const backfill = command<[], BackfillOptions>({
  name: 'backfill',
  description:
    'fetch missing blocks of one chain from nodes or a Sidecar, or of the chains in a sources file',
  args: (command) =>
    jsonOption(sourcesOption(sourceOptions(command), ['from', 'to']))
      .option('--from <height or day>', 'first height, or first UTC day', parseHeightOrDay, 0)
      .option(
        '--to <height or day>',
        'last height or UTC day, at most the finalized head; default: that head',
        parseHeightOrDay,
      )
      .option('--snapshots', 'the state at the end of each UTC day from a node, in place of blocks')
      .option(
        '--treasury <account...>',
        'with --snapshots: accounts whose balances of the native token are the treasury; default: that of the pallet',
      )
      .option('--dry-run', 'report what is missing, fetch nothing'),
  help: `Gaps between stored blocks are filled first. If interrupted, run the same command again: it continues with what is
missing. Failed requests are retried with growing waits; if the service stays down, the fetched blocks are kept and the
command exits. A height that fails while the service serves others is skipped: \`gaps\` shows it with its reason, and the
next run begins with it. While a server runs on the data directory, it does the loading.

A sources file names chains, each with its heights or days and its sources, in YAML or JSON. Chains load in parallel.
Sources of a chain are tried in order, each asked only for what the earlier ones did not provide:

  chains:
    - chain: polkadot
      from: 2024-01-01
      to: 2024-01-31
      sources:
        - archive: ./polkadot.ndjson.zst
        - node: wss://127.0.0.1:9944
        - url: http://127.0.0.1:8080
    - chain: kusama
      from: 21000000
      sources:
        - url: http://127.0.0.1:8081
          concurrency: 16

Examples:
  chain-metrics backfill --node wss://127.0.0.1:9944 --from 21000000
  chain-metrics backfill --url http://127.0.0.1:8080 --chain polkadot --dry-run
  chain-metrics backfill --url http://127.0.0.1:8080 --chain asset-hub-polkadot --from 11000000 --to 11050000
  chain-metrics backfill --node wss://127.0.0.1:9944 --snapshots --from 2026-01-01 --to 2026-01-31
  chain-metrics backfill --sources sources.yaml

With --snapshots the state is read at the last block of each UTC day, newest day first: staking, validators, issuance,
treasury, delegations and tracks on the chain where they live on that day, stable coins and contracts of asset hubs, the
sale of coretime chains, the number of accounts, and new ids of child bounties. Days that are stored are passed over. Days
that have ended long ago need an archive node; \`gaps\` lists what a node does not give, with the reason.

Nodes are asked in the order given, then the Sidecar of --url. The chain of a node is recognized by its first block. Its
blocks are decoded with the metadata of their runtime (V14 or newer) and checked against their hashes; the events of blocks
beyond the last 256 need an archive node. Messages tell the host of a node only, so that its address may hold a key.

Exit code 3: something was refused or is still missing; \`chain-metrics gaps\` shows the heights. Exit code 1: a source
failed and no other provided the rest, or a metric failed.`,
  run: async ({ options, config }) => {
    if (options.snapshots) {
      const { backfillSnapshots } = await import('../snapshot-backfill.ts');
      return backfillSnapshots(options, config);
    }
    const sources = await sourcesOf(options, config);
    const stop = stopOnSignal();
    const feeds = await openFeeds(sources, config, stop);
    const only = options.sources === undefined ? onlyChain(feeds) : null;
    if (only) {
      await only.findRange();
      throwFault(only);
    }
    return withOperations(
      config,
      (client) => {
        const work = { client, feeds, stop, options, only };
        return options.dryRun ? tellPlan(work) : fill(work);
      },
      { makesStore: true },
    );
  },
});

/** The one chain with one source. */
function onlyChain({ chains: [chain] }: Feeds): ChainBackfill | null {
  return chain?.plan.sources.length === 1 ? chain : null;
}

/** Where there is no other source, what is wrong with it is the result. */
function throwFault({ faults: [fault] }: ChainBackfill): void {
  if (fault) throw fault.error;
}

/** The chains of the file, or the one of the options. */
async function sourcesOf(options: BackfillOptions, config: Config): Promise<Sources> {
  const { sources: file, from, to } = options;
  if (file !== undefined) {
    const { readSourcesFile } = await import('../../../../ingest/backfill/sources-file.ts');
    return readSourcesFile(file, readRegistry(config));
  }
  const heights = { from: edgeOf(from, 0), to: to === undefined ? undefined : edgeOf(to, DAY_MS) };
  return sourcesOfOptions(options, config, heights);
}

interface Work {
  readonly client: OperationClient;
  readonly feeds: Feeds;
  readonly stop: AbortSignal;
  readonly options: BackfillOptions;
  /** The chain of the options, if they name one service; its fault is that of the command. */
  readonly only: ChainBackfill | null;
}

async function tellPlan({ client, feeds: { chains, values }, options, only }: Work): Promise<number> {
  const target = backfillTarget(client);
  const plans = await Promise.all(
    chains.map(async (chain) => {
      if (only === null) await chain.findRange();
      const { range, faults, plan } = chain;
      const [fault] = faults;
      const failure = fault && range === null ? { failure: reasonOf(fault.error) } : {};
      return { chain: plan.chain.name, ...range, missing: await chain.missing(target), ...failure };
    }),
  );
  const textOf = ({ chain, from, to, missing, failure }: (typeof plans)[number]) =>
    from === undefined || to === undefined
      ? `${chain}: ${failure ?? 'its archives are read for what is missing'}\n`
      : describePlan(missing, { chain, from, to });
  const { values: lacking } = await reportOfValues(values, target);
  const result = only !== null ? plans[0] : { chains: plans, values: lacking };
  print(result, options, () => `${plans.map(textOf).join('')}${valueTable(lacking)}`);
  return plans.some(({ failure }) => failure !== undefined) ? EXIT.failure : EXIT.ok;
}

async function fill(work: Work): Promise<number> {
  const { client, stop, options, only } = work;
  const { chains, values } = work.feeds;
  await refuseDemo(client);
  const started = performance.now();
  const target = backfillTarget(client);
  const names = [...chains.map(({ plan }) => plan.chain.name), ...values.map(({ kind }) => kind)];
  const displays = openDisplays(process.stderr, only !== null ? names : [METRICS, ...names], {
    silent: options.json === true,
  });
  const around = (name: string) => ({
    client,
    display: displays.of(name),
    tellsFailure: only === null,
  });
  const ofChains = chains.map((chain) => {
    const { name } = chain.plan.chain;
    return {
      chain,
      load: new FeedLoad(chain, { ...around(name), chain: name, portions: chain.portions(target) }),
    };
  });
  const ofValues = values.map(
    (value) => new FeedLoad(value, { ...around(value.kind), portions: value.portions(target.storedDays) }),
  );
  try {
    const loads = [...ofChains.map(({ load }) => load), ...ofValues];
    const failed_metrics = await loadInRounds({ client, loads, displays, stop });
    displays.end();
    if (failed_metrics === null) return stopped();
    const report: SourcesReport = {
      chains: await Promise.all(
        ofChains.map(({ chain, load }) => reportOfChain(chain, load.refused, target)),
      ),
      ...(await reportOfValues(values, target)),
      refused_values: ofValues.reduce((sum, { refused }) => sum + refused, 0),
      seconds: Math.round(performance.now() - started) / 1000,
      failed_metrics,
    };
    return tell(report, work);
  } finally {
    displays.end();
  }
}

function tell(report: SourcesReport, { only, options }: Work): number {
  if (only === null) {
    print(report, options, () => textOfAll(report));
    return exitCodeOf(report);
  }
  throwFault(only);
  const { chains, seconds, failed_metrics } = report;
  const { failures: _, ...chain } = chains[0] as SourcesReport['chains'][number];
  const one = { ...chain, seconds, failed_metrics };
  print(one, options, () => textOfOne(one));
  return exitCodeOf(report);
}

function stopped(): number {
  process.stderr.write(
    'chain-metrics: stopped; what was loaded stays, and the same command goes on with the rest\n',
  );
  return EXIT.failure;
}
