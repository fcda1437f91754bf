import type { FailedMetric } from '../../../aggregate/runner/failures.ts';
import { reasonOf } from '../../../infra/errors.ts';
import type { BackfillTarget, ChainBackfill } from '../../../ingest/backfill/chain-backfill.ts';
import type { SourceFault } from '../../../ingest/sources/feed.ts';
import { countHeights, type Heights } from '../../../ingest/sources/heights.ts';
import type { ValueBackfill } from '../../../ingest/sources/values/value-backfill.ts';
import { EXIT } from './failure.ts';
import { failedWords } from './ingest-inputs.ts';
import { alignedTable, formatDuration, formatNumber, plural } from './words.ts';

/** What became of one chain. Heights are null where no service was there to tell them. */
interface ChainReport {
  readonly chain: string;
  readonly from: number | null;
  readonly to: number | null;
  readonly blocks: number;
  readonly refused: number;
  /** Heights of the range that are still not stored, the skipped ones among them. */
  readonly missing: number | null;
  readonly skipped: number;
  /** Calls that are stored as bytes, since no metadata describe them. */
  readonly undecoded_calls: number;
  /** Why it is not known of which network services are that gave blocks. */
  readonly unchecked: readonly string[];
}

interface SourceFailure {
  readonly source: string;
  readonly reason: string;
}

/** The report of a backfill of one chain from one service. */
interface BackfillReport extends ChainReport {
  readonly seconds: number;
  readonly failed_metrics: readonly FailedMetric[];
}

/** What became of the values of one feed for one chain. */
interface SeriesReport {
  readonly kind: string;
  readonly adapter: string;
  readonly chain: string;
  /** Of a price; empty otherwise. */
  readonly symbol: string;
  /** Ended days of the range without a value. */
  readonly missing_days: number;
}

/** The report of a file of sources. */
export interface SourcesReport {
  readonly chains: readonly (ChainReport & { readonly failures: readonly SourceFailure[] })[];
  readonly values: readonly SeriesReport[];
  /** Of feeds of values. */
  readonly failures: readonly SourceFailure[];
  readonly refused_values: number;
  readonly seconds: number;
  readonly failed_metrics: readonly FailedMetric[];
}

const needsMore = ({ refused, missing }: ChainReport) => refused > 0 || (missing ?? 0) > 0;

/** A source that failed does not matter where another one gave the rest. */
export function exitCodeOf(report: SourcesReport): number {
  const { chains, values, failures, refused_values, failed_metrics } = report;
  const lacksDays = values.some(({ missing_days }) => missing_days > 0);
  const isBroken =
    chains.some(({ failures, missing }) => failures.length > 0 && missing !== 0) ||
    (failures.length > 0 && lacksDays);
  if (failed_metrics.length > 0 || isBroken) return EXIT.failure;
  return lacksDays || refused_values > 0 || chains.some(needsMore) ? EXIT.refused : EXIT.ok;
}

const failuresOf = (faults: readonly SourceFault[]): SourceFailure[] =>
  faults.map(({ source, error }) => ({ source, reason: reasonOf(error) }));

export async function reportOfChain(
  chain: ChainBackfill,
  refused: number,
  target: BackfillTarget,
): Promise<SourcesReport['chains'][number]> {
  const { plan, range, got, faults, undecodedCalls, unchecked } = chain;
  return {
    chain: plan.chain.name,
    from: range?.from ?? null,
    to: range?.to ?? null,
    blocks: got,
    refused,
    missing: range === null ? null : countHeights(await chain.missing(target)),
    skipped: (await chain.skipped(target)).length,
    undecoded_calls: undecodedCalls,
    unchecked,
    failures: failuresOf(faults),
  };
}

export async function reportOfValues(
  values: readonly ValueBackfill[],
  { storedDays }: BackfillTarget,
): Promise<Pick<SourcesReport, 'values' | 'failures'>> {
  const reports: SeriesReport[] = [];
  for (const feed of values.flatMap(({ feeds }) => feeds)) {
    const { kind, adapter, series: all } = feed.plan;
    for (const series of all) {
      const { length } = await feed.missingDays(series, storedDays);
      const { chain, symbol } = series;
      reports.push({ kind, adapter: adapter.name, chain, symbol, missing_days: length });
    }
  }
  return { values: reports, failures: failuresOf(values.flatMap(({ faults }) => faults)) };
}

/** What else is to be said of the blocks of a chain. */
function notesOf({ undecoded_calls, unchecked }: ChainReport): string[] {
  const undecoded = `${plural(undecoded_calls, 'call')} stored as bytes: the metadata of the runtime do not describe them`;
  return undecoded_calls === 0 ? [...unchecked] : [...unchecked, undecoded];
}

export function textOfOne(report: BackfillReport): string {
  const { blocks, refused, missing, skipped, seconds, failed_metrics } = report;
  const lacking = missing ? `; ${plural(missing, 'height')} still missing` : '';
  const why = skipped === 0 ? '' : `, ${formatNumber(skipped)} skipped: \`chain-metrics gaps\` says why`;
  return (
    `${plural(blocks, 'block')} in ${formatDuration(seconds)}, metrics included; ${formatNumber(refused)} refused${lacking}${why}\n` +
    notesOf(report)
      .map((text) => `${text}\n`)
      .join('') +
    failedWords(failed_metrics)
  );
}

export function textOfAll(report: SourcesReport): string {
  const { chains, values, seconds, failed_metrics, refused_values } = report;
  const failures = [
    ...chains.flatMap((report) => notesOf(report).map((text) => `${report.chain}: ${text}\n`)),
    ...chains.flatMap(({ chain, failures }) => failures.map(({ reason }) => `${chain}: ${reason}\n`)),
    ...report.failures.map(({ source, reason }) => `${source}: ${reason}\n`),
  ];
  const refused = refused_values === 0 ? '' : `${plural(refused_values, 'value')} refused\n`;
  const isWhole =
    !chains.some(needsMore) && values.every(({ missing_days }) => missing_days === 0) && refused === '';
  const hint = isWhole ? '' : '`chain-metrics gaps` and `dead-letters list` say what is missing and why\n';
  return (
    `${chainTable(chains)}${valueTable(values)}${failures.join('')}${refused}${hint}${failedWords(failed_metrics)}` +
    `in ${formatDuration(seconds)}, metrics included\n`
  );
}

function chainTable(chains: SourcesReport['chains']): string {
  const rows = chains.map(({ chain, from, to, blocks, refused, missing, skipped }) => [
    chain,
    from === null || to === null ? '' : `${from} to ${to}`,
    formatNumber(blocks),
    formatNumber(refused),
    missing === null ? '?' : formatNumber(missing),
    formatNumber(skipped),
  ]);
  const names = ['chain', 'heights', 'blocks', 'refused', 'missing', 'skipped'];
  return rows.length === 0 ? '' : `${alignedTable([names, ...rows], [2, 3, 4, 5])}\n`;
}

/** A line for each series, or nothing. */
export function valueTable(values: readonly SeriesReport[]): string {
  const rows = values.map(({ kind, adapter, chain, symbol, missing_days }) => [
    kind,
    symbol || chain,
    adapter,
    formatNumber(missing_days),
  ]);
  const names = ['value', 'of', 'feed', 'days missing'];
  return rows.length === 0 ? '' : `${alignedTable([names, ...rows], [3])}\n`;
}

const RANGES_SHOWN = 20;

/** What a dry run says of one chain. */
export function describePlan(
  missing: readonly Heights[],
  { chain, from, to }: Heights & { chain: string },
): string {
  const shown = missing.slice(0, RANGES_SHOWN).map((range) => `  ${range.from} to ${range.to}`);
  const more =
    missing.length > RANGES_SHOWN ? [`  … and ${plural(missing.length - RANGES_SHOWN, 'range')} more`] : [];
  const total = `${plural(countHeights(missing), 'block')} of ${chain} missing between ${from} and ${to}`;
  return `${[`${total}${missing.length > 0 ? ', in this order:' : ''}`, ...shown, ...more].join('\n')}\n`;
}
