import { DAY_MS } from '../../../../infra/days.ts';
import { reasonOf } from '../../../../infra/errors.ts';
import type { ChainBackfill } from '../../../../ingest/backfill/chain-backfill.ts';
import { boundOf } from '../../../../ingest/backfill/range-bounds.ts';
import type { Sources } from '../../../../ingest/backfill/sources-file.ts';
import { readRegistry } from '../../../../ingest/chains/registry.ts';
import type { Config } from '../../../settings/settings.ts';
import type { OperationClient } from '../../operations/client.ts';
import { parseHeightOrDay, sourceOptions, sourcesOption } from '../arguments.ts';
import { backfillTarget, type Feeds, openFeeds } from '../backfill-feeds.ts';
import {
  exitCodeOf,
  reportOfChain,
  reportOfValues,
  type SourcesReport,
  textOfChain,
  textOfPlan,
  textOfSources,
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
  /** Last height or day; the finalized head of the source if absent. */
  readonly to?: number | string;
  /** Fetches the state at the end of each day instead of blocks. */
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
      .option('--snapshots', 'fetch the state at the end of each UTC day from a node, instead of blocks')
      .option(
        '--treasury <account...>',
        'with --snapshots: accounts that hold the treasury in the native token; default: the account of the treasury pallet',
      )
      .option('--dry-run', 'report what is missing, fetch nothing'),
  help: `Gaps between stored blocks are filled first. After an interruption run the same command again: it fetches only missing
blocks. Failed requests are retried with exponential backoff. If the service stays unavailable, the command stores the blocks
that it fetched, and exits. If only some heights fail, they are skipped: \`gaps\` lists them with the reason, and the next run
starts with them. If a server runs on DATA_DIR, it loads the blocks.

A sources file lists chains, each with its heights or days and its sources, in YAML or JSON. Chains load in parallel. The
sources of a chain are used in order: each provides only the blocks that the earlier ones lack.

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

--snapshots reads the state at the last block of each UTC day, newest day first. All chains: the number of accounts. The
chain that has them on that day: staking, validators, issuance, treasury, delegations and tracks. Asset hubs: stable coins
and contracts. Coretime chains: the sale. Once for each network: the new ids of child bounties. Stored days are skipped. Old days need an archive
node; \`gaps\` lists the snapshots that a node could not provide, with the reason.

Nodes are used in the order of the options, then the Sidecar of --url. A node is recognized by the first block of its chain.
Blocks are decoded with the metadata of their runtime (V14 or newer) and verified against their hashes. Events of blocks
before the last 256 need an archive node. Messages show only the host of a node, so its URL can contain an API key.

Exit code 3: input was refused, or blocks are still missing; \`chain-metrics gaps\` lists their heights. Exit code 1: a source
failed and no other source provided its blocks, or a metric failed.`,
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
        return options.dryRun ? printPlan(work) : fill(work);
      },
      { createsStore: true },
    );
  },
});

/** The chain, if there is one chain with one source. */
function onlyChain({ chains: [chain] }: Feeds): ChainBackfill | null {
  return chain?.plan.sources.length === 1 ? chain : null;
}

/** Throws the fault of the only source, as the error of the command. */
function throwFault({ faults: [fault] }: ChainBackfill): void {
  if (fault) throw fault.error;
}

/** The chains of the sources file, or the chain of the options. */
async function sourcesOf(options: BackfillOptions, config: Config): Promise<Sources> {
  const { sources: file, from, to } = options;
  if (file !== undefined) {
    const { readSourcesFile } = await import('../../../../ingest/backfill/sources-file.ts');
    return readSourcesFile(file, readRegistry(config));
  }
  const heights = { from: boundOf(from, 0), to: to === undefined ? undefined : boundOf(to, DAY_MS) };
  return sourcesOfOptions(options, config, heights);
}

interface Work {
  readonly client: OperationClient;
  readonly feeds: Feeds;
  readonly stop: AbortSignal;
  readonly options: BackfillOptions;
  /** The chain of the options, if they name one service. */
  readonly only: ChainBackfill | null;
}

async function printPlan({ client, feeds: { chains, values }, options, only }: Work): Promise<number> {
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
      ? `${chain}: ${failure ?? 'the number of missing blocks is unknown until its archives are read'}\n`
      : textOfPlan(missing, { chain, from, to });
  const report = await reportOfValues(values, target);
  const result = only !== null ? plans[0] : { chains: plans, values: report.values };
  print(result, options, () => `${plans.map(textOf).join('')}${valueTable(report.values)}`);
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
  const loadOptions = (name: string) => ({
    client,
    display: displays.of(name),
    showsFailure: only === null,
  });
  const ofChains = chains.map((chain) => {
    const { name } = chain.plan.chain;
    return {
      chain,
      load: new FeedLoad(chain, { ...loadOptions(name), chain: name, portions: chain.portions(target) }),
    };
  });
  const ofValues = values.map(
    (value) =>
      new FeedLoad(value, { ...loadOptions(value.kind), portions: value.portions(target.storedDays) }),
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
    return printReport(report, work);
  } finally {
    displays.end();
  }
}

function printReport(report: SourcesReport, { only, options }: Work): number {
  if (only === null) {
    print(report, options, () => textOfSources(report));
    return exitCodeOf(report);
  }
  throwFault(only);
  const { chains, seconds, failed_metrics } = report;
  const { failures: _, ...chain } = chains[0] as SourcesReport['chains'][number];
  const chainReport = { ...chain, seconds, failed_metrics };
  print(chainReport, options, () => textOfChain(chainReport));
  return exitCodeOf(report);
}

function stopped(): number {
  process.stderr.write(
    'chain-metrics: stopped; the loaded blocks are stored. Run the same command again to continue.\n',
  );
  return EXIT.failure;
}
