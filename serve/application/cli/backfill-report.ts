import type { FailedMetric } from '../../../aggregate/runner/failures.ts';
import { reasonOf } from '../../../infra/errors.ts';
import type { BackfillTarget, ChainBackfill } from '../../../ingest/backfill/chain-backfill.ts';
import type { SourceFault } from '../../../ingest/sources/feed.ts';
import { countHeights, type HeightRange } from '../../../ingest/sources/heights.ts';
import type { ValueBackfill } from '../../../ingest/sources/values/value-backfill.ts';
import { EXIT } from './failure.ts';
import { alignedTable, formatDuration, formatNumber, plural } from './format.ts';
import { failureText } from './ingest-inputs.ts';

/** The result of one chain. Heights are null if no service of the chain answered. */
interface ChainReport {
  readonly chain: string;
  readonly from: number | null;
  readonly to: number | null;
  readonly blocks: number;
  readonly refused: number;
  /** Heights of the range that are not stored, including skipped heights. */
  readonly missing: number | null;
  readonly skipped: number;
  /** Calls that are stored as bytes, because the metadata do not describe them. */
  readonly undecoded_calls: number;
  /** Warnings about services whose network could not be verified. */
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

/** The result of one feed of values for one chain. */
interface SeriesReport {
  readonly kind: string;
  readonly adapter: string;
  readonly chain: string;
  /** The token of a price; otherwise ''. */
  readonly symbol: string;
  /** Days of the range that have ended and have no value. */
  readonly missing_days: number;
}

/** The report of a sources file. */
export interface SourcesReport {
  readonly chains: readonly (ChainReport & { readonly failures: readonly SourceFailure[] })[];
  readonly values: readonly SeriesReport[];
  /** Failures of feeds of values. */
  readonly failures: readonly SourceFailure[];
  readonly refused_values: number;
  readonly seconds: number;
  readonly failed_metrics: readonly FailedMetric[];
}

const needsMore = ({ refused, missing }: ChainReport) => refused > 0 || (missing ?? 0) > 0;

/** Ignores the failure of a source if another source provided its blocks. */
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
  const { plan, range, fetchedCount, faults, undecodedCalls, unchecked } = chain;
  return {
    chain: plan.chain.name,
    from: range?.from ?? null,
    to: range?.to ?? null,
    blocks: fetchedCount,
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

function warningsOf({ undecoded_calls, unchecked }: ChainReport): string[] {
  const undecoded = `${plural(undecoded_calls, 'call')} stored as bytes, because the metadata of the runtime do not describe them`;
  return undecoded_calls === 0 ? [...unchecked] : [...unchecked, undecoded];
}

export function textOfChain(report: BackfillReport): string {
  const { blocks, refused, missing, skipped, seconds, failed_metrics } = report;
  const missingText = missing ? `; ${plural(missing, 'height')} still missing` : '';
  const skippedText =
    skipped === 0 ? '' : `, ${formatNumber(skipped)} skipped: \`chain-metrics gaps\` lists the reasons`;
  return (
    `${plural(blocks, 'block')} in ${formatDuration(seconds)}, metrics included; ${formatNumber(refused)} refused${missingText}${skippedText}\n` +
    warningsOf(report)
      .map((text) => `${text}\n`)
      .join('') +
    failureText(failed_metrics)
  );
}

export function textOfSources(report: SourcesReport): string {
  const { chains, values, seconds, failed_metrics, refused_values } = report;
  const failures = [
    ...chains.flatMap((report) => warningsOf(report).map((text) => `${report.chain}: ${text}\n`)),
    ...chains.flatMap(({ chain, failures }) => failures.map(({ reason }) => `${chain}: ${reason}\n`)),
    ...report.failures.map(({ source, reason }) => `${source}: ${reason}\n`),
  ];
  const refused = refused_values === 0 ? '' : `${plural(refused_values, 'value')} refused\n`;
  const isComplete =
    !chains.some(needsMore) && values.every(({ missing_days }) => missing_days === 0) && refused === '';
  const hint = isComplete
    ? ''
    : 'run `chain-metrics gaps` for missing data and `chain-metrics dead-letters list` for refused input\n';
  return (
    `${chainTable(chains)}${valueTable(values)}${failures.join('')}${refused}${hint}${failureText(failed_metrics)}` +
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

/** A line for each series. */
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

/** The result of a dry run for one chain. */
export function textOfPlan(
  missing: readonly HeightRange[],
  { chain, from, to }: HeightRange & { chain: string },
): string {
  const shown = missing.slice(0, RANGES_SHOWN).map((range) => `  ${range.from} to ${range.to}`);
  const more =
    missing.length > RANGES_SHOWN ? [`  … and ${plural(missing.length - RANGES_SHOWN, 'range')} more`] : [];
  const total = `${plural(countHeights(missing), 'block')} of ${chain} missing between ${from} and ${to}`;
  return `${[`${total}${missing.length > 0 ? ', in this order:' : ''}`, ...shown, ...more].join('\n')}\n`;
}
