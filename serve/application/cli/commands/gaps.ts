import type { Missing } from '../../../../aggregate/status/heights.ts';
import type { ChainCoverage } from '../../../../aggregate/status/status.ts';
import type { SkippedDays } from '../../../../ingest/raw/skipped-snapshots.ts';
import { headings } from '../colour.ts';
import { command, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable, formatNumber, plural } from '../format.ts';

export const gaps = command<[], { chain?: string; json?: boolean }>({
  name: 'gaps',
  description:
    'show missing heights, days, snapshots, prices and timestamps, and the commands that fill them',
  args: (command) =>
    command
      .option('--chain <name>', 'only that chain, by its name or an alias')
      .option('--json', 'print the result as JSON, with up to 1000 ranges of each kind'),
  help: `Lists missing heights between stored blocks; \`backfill --dry-run\` also lists the missing heights before the first stored block and after the last.
A day is missing if it has no blocks, unless the heights of the days around it show that the chain produced none. Snapshots
that a node could not provide are listed with the reason: pruned state, or an item that the runtime lacks. If a day has no
price, its amounts in USD are null, never 0.

Examples:
  chain-metrics gaps
  chain-metrics gaps --chain statemint
  chain-metrics gaps --json | jq '.[] | {chain, missing: .missing_blocks.ranges}'`,
  run: async ({ options, config }) => {
    const { findChain, readRegistry } = await import('../../../../ingest/chains/registry.ts');
    const chain = options.chain === undefined ? undefined : findChain(readRegistry(config), options.chain);
    const filter = chain === undefined ? {} : { relay_chain: chain.relay_chain, chain: chain.name };
    return withOperations(config, async (client) => {
      const coverage = await client.call('coverage', filter);
      const skipped = await client.call('skippedSnapshots', chain === undefined ? {} : { chain: chain.name });
      const report = coverage.map((chain) => ({
        ...chain,
        skipped_snapshots: skipped.filter(
          (days) => days.relay_chain === chain.relay_chain && days.chain === chain.chain,
        ),
      }));
      print(report, options, () => describe(coverage, skipped, chain?.name));
      return EXIT.ok;
    });
  },
});

function describe(
  chains: readonly ChainCoverage[],
  skipped: readonly SkippedDays[],
  wanted: string | undefined,
): string {
  const state = skippedDaysOf(skipped);
  if (chains.length === 0) {
    const ofChain = wanted === undefined ? '' : ` of ${wanted}`;
    const none = `No blocks${ofChain} are stored yet. Load some with \`chain-metrics ingest PATH…\` or \`chain-metrics backfill\`.`;
    return `${[none, ...state].join('\n\n')}\n`;
  }
  const head = [
    'chain',
    'heights',
    'missing',
    'skipped',
    'days',
    'missing',
    'without price',
    'untimed blocks',
  ];
  const rows = chains.map((chain) => [
    chain.chain,
    `${chain.lowest_block} to ${chain.highest_block}`,
    formatNumber(chain.missing_blocks.total),
    formatNumber(chain.skipped_heights.total),
    chain.first_day === null ? 'none' : `${chain.first_day} to ${chain.last_day}`,
    formatNumber(chain.missing_days.total),
    formatNumber(chain.days_without_price.total),
    formatNumber(chain.untimed_blocks),
  ]);
  const parts = [
    alignedTable([headings(head), ...rows], [2, 3, 5, 6, 7]),
    ...chains.flatMap(gapsOf),
    ...state,
  ];
  if (parts.length === 1) parts.push('Nothing is missing.');
  return `${parts.join('\n\n')}\n`;
}

const SHOWN = 20;

function gapsOf({ chain, missing_blocks, missing_days, days_without_price: prices, ...more }: ChainCoverage) {
  const command = `chain-metrics backfill --url URL --chain ${chain}`;
  return [
    ...section(
      `${chain}: missing heights, and the commands that fetch them`,
      missing_blocks,
      ({ from, to }) => `${command} --from ${from} --to ${to}`,
    ),
    ...skippedOf(chain, more.skipped_heights),
    ...section(`${chain}: days without a block, although the chain may have produced some`, missing_days),
    ...section(
      `${chain}: days without a price of ${prices.token}; amounts in USD are null until you ingest \`price\` snapshots`,
      prices,
    ),
    ...(more.untimed_blocks === 0
      ? []
      : [
          `${chain}: ${plural(more.untimed_blocks, 'block has', 'blocks have')} no timestamp; they are stored, but no metric counts them`,
        ]),
  ];
}

function skippedOf(chain: string, { total, heights }: ChainCoverage['skipped_heights']): string[] {
  if (total === 0) return [];
  const shown = heights
    .slice(0, SHOWN)
    .map(({ number: height, tries, last_tried_at, reason }) => [
      `  ${height}`,
      plural(tries, 'try', 'tries'),
      last_tried_at.replace('T', ' ').slice(0, 19),
      reason,
    ]);
  const more = total - shown.length;
  return [
    [
      `${chain}: heights that the source failed to serve; \`follow\` and the next \`backfill\` try them again`,
      alignedTable(shown),
      ...(more > 0 ? [`  … and ${plural(more, 'height')} more`] : []),
    ].join('\n'),
  ];
}

/** Snapshots that a node could not provide, by chain. An archive node may have them. */
function skippedDaysOf(skipped: readonly SkippedDays[]): string[] {
  return Object.entries(Object.groupBy(skipped, ({ chain }) => chain)).map(([chain, days = []]) => {
    const rows = days
      .slice(0, SHOWN)
      .map(({ kind, from, to, reason }) => [`  ${kind}`, from === to ? from : `${from} to ${to}`, reason]);
    const more = days.length - SHOWN;
    return [
      `${chain}: snapshots that a node could not provide; \`chain-metrics backfill --snapshots\` tries them again`,
      alignedTable(rows),
      ...(more > 0 ? [`  … and ${plural(more, 'range')} more`] : []),
    ].join('\n');
  });
}

/** A list of ranges below its title; nothing if there are none. */
function section<Point extends string | number>(
  title: string,
  { ranges, ranges_total }: Missing<Point>,
  remedy: (range: { from: Point; to: Point }) => string = () => '',
): string[] {
  if (ranges_total === 0) return [];
  const shown = ranges.slice(0, SHOWN);
  const rows = shown.map((range) => [
    `  ${range.from === range.to ? range.from : `${range.from} to ${range.to}`}`,
    remedy(range),
  ]);
  const more = ranges_total - shown.length;
  return [
    [title, alignedTable(rows), ...(more > 0 ? [`  … and ${plural(more, 'range')} more`] : [])].join('\n'),
  ];
}
