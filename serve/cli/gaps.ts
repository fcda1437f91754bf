import type { ChainCoverage } from '../../aggregate/status/status.ts';
import { readRegistry } from '../../ingest/chains/registry.ts';
import { findChain } from '../../ingest/sources/open-source.ts';
import type { Config } from '../settings.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import { alignedTable, number, plural } from './words.ts';

export interface GapsOptions {
  readonly chain?: string;
  readonly json?: boolean;
}

/** What is missing of every chain, and how to get it. */
export async function gapsCommand({ chain, json = false }: GapsOptions, config: Config): Promise<number> {
  const wanted = chain === undefined ? undefined : findChain(readRegistry(config), chain);
  const operator = await openOperator(config);
  try {
    const of = wanted === undefined ? {} : { relay_chain: wanted.relay_chain, chain: wanted.name };
    const coverage = await operator.coverage(of);
    process.stdout.write(json ? `${JSON.stringify(coverage)}\n` : describe(coverage, wanted?.name));
    return EXIT.ok;
  } finally {
    await operator.close();
  }
}

function describe(chains: readonly ChainCoverage[], wanted: string | undefined): string {
  if (chains.length === 0) {
    const of = wanted === undefined ? '' : ` of ${wanted}`;
    return `No blocks${of} yet: \`chain-metrics ingest PATH…\` or \`chain-metrics backfill\` takes them in.\n`;
  }
  const head = ['chain', 'heights', 'missing', 'days', 'missing', 'without price', 'untimed blocks'];
  const rows = chains.map((chain) => [
    chain.chain,
    `${chain.lowest_block} to ${chain.highest_block}`,
    number(chain.missing_blocks.total),
    chain.first_day === null ? 'none' : `${chain.first_day} to ${chain.last_day}`,
    number(chain.missing_days.total),
    number(chain.days_without_price.total),
    number(chain.untimed_blocks),
  ]);
  const parts = [alignedTable([head, ...rows], [2, 4, 5, 6]), ...chains.flatMap(gapsOf)];
  if (parts.length === 1) parts.push('Nothing is missing.');
  return `${parts.join('\n\n')}\n`;
}

const SHOWN = 20;

interface Ranges<Point> {
  readonly total: number;
  readonly ranges_total: number;
  readonly ranges: readonly { readonly from: Point; readonly to: Point }[];
}

function gapsOf({ chain, missing_blocks, missing_days, days_without_price: prices, ...more }: ChainCoverage) {
  const command = `chain-metrics backfill --url URL --chain ${chain}`;
  return [
    ...section(
      `${chain}: missing heights, and what fills them`,
      missing_blocks,
      ({ from, to }) => `${command} --from ${from} --to ${to}`,
    ),
    ...section(`${chain}: days without a block that are not proven to be empty`, missing_days),
    ...section(
      `${chain}: days without a price of ${prices.token}; \`price\` snapshots fill them, until then amounts in USD are null`,
      prices,
    ),
    ...(more.untimed_blocks === 0
      ? []
      : [
          `${chain}: ${plural(more.untimed_blocks, 'block has', 'blocks have')} no timestamp; they are stored, and in no metric`,
        ]),
  ];
}

/** A list of ranges below its title; nothing when there are none. */
function section<Point extends string | number>(
  title: string,
  { ranges, ranges_total }: Ranges<Point>,
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
