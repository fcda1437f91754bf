import { DAY_MS, isoDay } from '../../../infra/days.ts';
import { ProductError } from '../../../infra/errors.ts';
import { readRegistry } from '../../../ingest/chains/registry.ts';
import type { StateBackfill } from '../../../ingest/node/state/state-backfill.ts';
import { displayAddress } from '../../../ingest/sources/service-address.ts';
import type { Subject } from '../../../ingest/sources/snapshot-line.ts';
import type { Config } from '../../settings/settings.ts';
import type { OperationClient } from '../operations/client.ts';
import { stateTarget } from './backfill-feeds.ts';
import { FeedLoad, loadInRounds } from './backfill-rounds.ts';
import { print, withOperations } from './command.ts';
import { EXIT } from './failure.ts';
import { formatDuration, formatNumber, plural } from './format.ts';
import { failureText } from './ingest-inputs.ts';
import { refuseDemo } from './ingest-target.ts';
import { type ServiceOptions, sourcesOfOptions } from './service-plan.ts';
import { openDisplays } from './several-displays.ts';
import { stopOnSignal } from './stop.ts';

interface SnapshotOptions extends ServiceOptions {
  /** First and last UTC day; `to` defaults to yesterday. */
  readonly from: number | string;
  readonly to?: number | string;
  readonly treasury?: readonly string[];
  readonly sources?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Fetches the state of a chain at the end of each day. Each node provides only the snapshots that earlier nodes lack. */
export async function backfillSnapshots(options: SnapshotOptions, config: Config): Promise<number> {
  const days = daysOf(options);
  const { chains } = await sourcesOfOptions(options, config);
  const { chain, sources } = chains[0] as (typeof chains)[number];
  const subject = { chain, registry: readRegistry(config), treasury: options.treasury ?? [] };
  const stop = stopOnSignal();
  const feeds: StateBackfill[] = [];
  for (const source of sources) {
    if ('url' in source) feeds.push(await feedOf(source, { subject, days, config, stop }));
  }
  return withOperations(
    config,
    (client) =>
      options.dryRun ? printMissing(client, feeds, options) : fill(client, feeds, { options, stop }),
    { createsStore: true },
  );
}

function daysOf({ node = [], url, sources, from, to }: SnapshotOptions): { from: string; to: string } {
  const last = to ?? isoDay(Date.now() - DAY_MS);
  const isOfNodes = node.length > 0 && url === undefined && sources === undefined;
  if (!isOfNodes || typeof from !== 'string' || typeof last !== 'string')
    throw new ProductError(
      'usage',
      'with --snapshots pass --node and days, such as --from 2026-01-01 --to 2026-01-31',
    );
  if (from > last) throw new ProductError('usage', `--to ${last} is before --from ${from}`);
  return { from, to: last };
}

async function feedOf(
  { url, force }: { readonly url: string; readonly force?: boolean | undefined },
  context: {
    readonly subject: Subject;
    readonly days: { readonly from: string; readonly to: string };
    readonly config: Config;
    readonly stop: AbortSignal;
  },
): Promise<StateBackfill> {
  const { StateBackfill } = await import('../../../ingest/node/state/state-backfill.ts');
  const { openStateNode } = await import('../../../ingest/backfill/open-source.ts');
  const { subject, days, config, stop: signal } = context;
  const open = () =>
    openStateNode({ url, isNode: true, chain: subject.chain.name, force }, config, { signal });
  return new StateBackfill(subject, days, { source: displayAddress(url), open, signal });
}

async function printMissing(
  client: OperationClient,
  [feed]: readonly StateBackfill[],
  options: SnapshotOptions,
): Promise<number> {
  const { subject, days } = feed as StateBackfill;
  const missing = await (feed as StateBackfill).missing(stateTarget(client));
  const report = {
    chain: subject.chain.name,
    ...days,
    missing: [...missing].map(([day, kinds]) => ({ day, kinds })),
  };
  const shown = report.missing.slice(0, DAYS_SHOWN).map(({ day, kinds }) => `  ${day} ${kinds.join(', ')}\n`);
  const more = report.missing.length - DAYS_SHOWN;
  print(
    report,
    options,
    () =>
      `${plural(missing.size, 'day')} of ${report.chain} without a snapshot between ${days.from} and ${days.to}\n` +
      `${shown.join('')}${more > 0 ? `  … and ${plural(more, 'day')} more\n` : ''}`,
  );
  return EXIT.ok;
}

const DAYS_SHOWN = 20;

async function fill(
  client: OperationClient,
  feeds: readonly StateBackfill[],
  { options, stop }: { readonly options: SnapshotOptions; readonly stop: AbortSignal },
): Promise<number> {
  await refuseDemo(client);
  const started = performance.now();
  const { subject, days } = feeds[0] as StateBackfill;
  const target = stateTarget(client);
  const chain = subject.chain.name;
  let [read, refused] = [0, 0];
  for (const [i, feed] of feeds.entries()) {
    const displays = openDisplays(process.stderr, [chain], { silent: options.json === true });
    try {
      const display = displays.of(chain);
      const isLast = i === feeds.length - 1;
      const load = new FeedLoad(feed, {
        client,
        display,
        portions: feed.portions(target),
        showsFailure: !isLast,
      });
      const failed_metrics = await loadInRounds({ client, loads: [load], displays, stop });
      displays.end();
      if (failed_metrics === null) return stopped();
      [read, refused] = [read + feed.fetchedCount, refused + load.refused];
      const [fault] = feed.faults;
      // The next node may have the snapshots that this node lacks.
      if (!isLast && (fault || feed.skipped > 0)) continue;
      if (fault) throw fault.error;
      const seconds = Math.round(performance.now() - started) / 1000;
      const report = { chain, ...days, days: read, skipped: feed.skipped, refused, seconds, failed_metrics };
      print(report, options, () => textOf(report));
      if (failed_metrics.length > 0) return EXIT.failure;
      return feed.skipped > 0 || refused > 0 ? EXIT.refused : EXIT.ok;
    } finally {
      displays.end();
    }
  }
  return EXIT.ok;
}

function textOf({
  days,
  skipped,
  refused,
  seconds,
  failed_metrics,
}: {
  readonly days: number;
  readonly skipped: number;
  readonly refused: number;
  readonly seconds: number;
  readonly failed_metrics: Parameters<typeof failureText>[0];
}): string {
  const skippedText =
    skipped === 0 ? '' : `; ${plural(skipped, 'snapshot')} skipped: \`chain-metrics gaps\` lists the reasons`;
  return (
    `state of ${plural(days, 'day')} in ${formatDuration(seconds)}, metrics included; ${formatNumber(refused)} refused${skippedText}\n` +
    failureText(failed_metrics)
  );
}

function stopped(): number {
  process.stderr.write(
    'chain-metrics: stopped; the fetched days are stored. Run the same command again to continue.\n',
  );
  return EXIT.failure;
}
