import { statfsSync } from 'node:fs';
import { toKebabCase } from '../../../../aggregate/metric-name.ts';
import type { Missing } from '../../../../aggregate/status/heights.ts';
import type { SystemStatus } from '../../../../aggregate/status/status.ts';
import { directorySize } from '../../../../infra/embedded/directory-check.ts';
import { type Restored, readRestored } from '../../../../infra/embedded/restore.ts';
import type { Damage } from '../../../../infra/ports.ts';
import { formatUnreadCalls } from '../../../../ingest/raw/unknown-wrappers.ts';
import { headings, paint } from '../colour.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable, formatAge, formatBytes, formatDuration, formatNumber, plural } from '../format.ts';

export const status = command<[], { json?: boolean }>({
  name: 'status',
  description: 'show heights, gaps and lag of every chain, refused input and the state of computation',
  args: jsonOption,
  help: `Examples:
  chain-metrics status
  chain-metrics status --json | jq '.chains[] | {chain, lag_seconds}'`,
  run: ({ options, config }) =>
    withOperations(config, async (client) => {
      const [status, damage] = [await client.call('status', {}), await client.call('damage', {})];
      const restored = readRestored(config.DATA_DIR);
      const isEmbedded = config.PROFILE === 'embedded';
      const place = `${isEmbedded ? 'data directory' : 'store         '}  ${client.location}${isEmbedded ? diskUsageOf(config.DATA_DIR) : ''}`;
      print({ ...status, damage, restored }, options, () =>
        describe({ status, damage, restored, place, now: Date.now() }),
      );
      return EXIT.ok;
    }),
});

interface StatusReport {
  readonly status: SystemStatus;
  readonly damage: readonly Damage[];
  readonly restored: Restored | null;
  /** The line that names the data directory or the store. */
  readonly place: string;
  readonly now: number;
}

function describe({ status, damage, restored, place, now }: StatusReport): string {
  const parts = [
    place,
    ...demo(status),
    ...(restored === null ? [] : [restoredText(restored, now)]),
    ...damaged(damage),
    chains(status, now),
    metrics(status, now),
    refused(status, now),
  ];
  return `${parts.join('\n\n')}\n`;
}

const restoredText = ({ taken_at, restored_at }: Restored, now: number) =>
  `restored        ${formatAge(restored_at, now)} from a backup with the data accepted until ${taken_at}`;

/** The size of a data directory and the free space of its disk; empty if this process may not read them. */
function diskUsageOf(directory: string): string {
  try {
    const { bytes: size, isWhole } = directorySize(directory);
    const { bavail, bsize } = statfsSync(directory);
    return `: ${isWhole ? '' : 'at least '}${formatBytes(size)}, ${formatBytes(bavail * bsize)} free`;
  } catch {
    // The line shows the path without the figures.
    return '';
  }
}

const demo = ({ demo_data }: SystemStatus): string[] =>
  demo_data ? [`${paint('caution', 'DEMO DATA')}       made up, not measured`] : [];

const DAMAGE_SHOWN = 5;

function damaged(damage: readonly Damage[]): string[] {
  if (damage.length === 0) return [];
  const shown = damage.slice(0, DAMAGE_SHOWN).map(({ file, lost }) => `  ${file}: ${lost}`);
  const more = damage.length - shown.length;
  return [
    [
      `${paint('bad', 'DAMAGED')}         ${plural(damage.length, 'fault')}; run \`chain-metrics check\` for the repair of each`,
      ...shown,
      ...(more > 0 ? [`  … and ${plural(more, 'more fault')}`] : []),
    ].join('\n'),
  ];
}

function chains({ chains }: SystemStatus, now: number): string {
  if (chains.length === 0)
    return 'No blocks are stored yet. Load some with `chain-metrics ingest PATH…` or `chain-metrics backfill`.';
  const rows = chains.map((chain) => [
    chain.relay_chain,
    chain.chain,
    formatNumber(chain.blocks),
    formatNumber(chain.lowest_block),
    formatNumber(chain.highest_block),
    formatNumber(chain.missing_blocks.total),
    formatNumber(chain.skipped_heights),
    chain.newest_block_at === null ? 'none' : formatAge(chain.newest_block_at, now),
    chain.lag_seconds === null ? 'none' : formatDuration(chain.lag_seconds),
    formatNumber(chain.untimed_blocks),
  ]);
  const head = [
    'relay chain',
    'chain',
    'blocks',
    'lowest',
    'highest',
    'missing',
    'skipped',
    'newest block',
    'lag',
    'untimed',
  ];
  const holes = chains
    .filter((chain) => chain.missing_blocks.total > 0)
    .map((chain) => [`  ${chain.chain}`, ranges(chain.missing_blocks)]);
  const table = alignedTable([headings(head), ...rows], [2, 3, 4, 5, 6, 9]);
  return holes.length === 0
    ? table
    : `${table}\n\n${paint('heading', 'missing heights')}\n${alignedTable(holes)}`;
}

function ranges({ ranges, ranges_total }: Missing<number>): string {
  const shown = ranges.map(({ from, to }) =>
    from === to ? formatNumber(from) : `${formatNumber(from)} to ${formatNumber(to)}`,
  );
  const more = ranges_total - ranges.length;
  return `${shown.join('; ')}${more > 0 ? `; and ${plural(more, 'range')} more` : ''}`;
}

function metrics({ metrics, computing }: SystemStatus, now: number): string {
  const rows = metrics.map((metric) => [
    toKebabCase(metric.metric),
    metric.version,
    metric.computed_at === null ? 'never' : formatAge(metric.computed_at, now),
    formatNumber(metric.windows),
    metric.pending_from === null
      ? ''
      : `${metric.pending_reason?.replaceAll('_', ' ')}, ${metric.pending_from} on`,
  ]);
  const lines = [
    alignedTable([headings(['metric', 'version', 'last computed', 'windows', 'pending']), ...rows], [1, 3]),
    '',
  ];
  if (computing.windows_total > 0) {
    lines.push(
      `computing       ${formatNumber(computing.windows_done)} of ${plural(computing.windows_total, 'window')}`,
    );
  }
  const pause = computing.held ? ', paused until the running load ends' : '';
  lines.push(
    `waiting         ${plural(computing.touched_days_waiting, 'day')}, ${plural(computing.jobs_waiting, 'job')}${pause}`,
  );
  lines.push(...failing(metrics, now));
  const failures = plural(computing.failed.length, 'job');
  lines.push(`failed          ${computing.failed.length === 0 ? failures : paint('bad', failures)}`);
  for (const { id, attempts, reason } of computing.failed) {
    lines.push(`  ${id} after ${plural(attempts, 'try', 'tries')}: ${reason}`);
  }
  return lines.join('\n');
}

/** Lines about failing metrics, without metrics that only wait for a failing metric. */
function failing(metrics: SystemStatus['metrics'], now: number): string[] {
  const failures = metrics.flatMap(({ metric, failures }) =>
    failures.filter((failure) => failure.metric === metric),
  );
  return failures.flatMap((failure) => {
    const name = toKebabCase(failure.metric);
    const next =
      failure.next_attempt_at === null
        ? `retries exhausted: fix the cause, then run \`chain-metrics rebuild ${name}\``
        : `tried again ${formatAge(failure.next_attempt_at, now)}`;
    return [
      `${paint('bad', 'FAILING')}         ${name}, first ${formatAge(failure.failed_since, now)}, ${plural(failure.attempts, 'attempt')}; ${next}`,
      `  ${failure.reason}`,
    ];
  });
}

function refused(status: SystemStatus, now: number): string {
  const { dead_letters, refused_facts, unknown_wrappers } = status;
  const latest = dead_letters.latest.map(({ received_at, file, line, reason }) => [
    `  ${formatAge(received_at, now)}`,
    `${file}:${line}`,
    reason,
  ]);
  return [
    `dead letters    ${formatNumber(dead_letters.total)}${latest.length > 0 ? ', the latest:' : ''}`,
    ...(latest.length > 0 ? [alignedTable(latest)] : []),
    `refused facts   ${formatNumber(refused_facts)}`,
    `unknown         ${formatUnreadCalls(unknown_wrappers)}`,
    ...deleted(status),
    ...inconsistent(status),
    ...outdated(status),
  ].join('\n');
}

function deleted({ retention: { blocks_from, raw_rows_from } }: SystemStatus): string[] {
  if (blocks_from === null) return [];
  const rows = raw_rows_from === null ? 'none are deleted yet' : `from ${raw_rows_from} on`;
  return [`raw rows        ${rows}; blocks before ${blocks_from} are refused`];
}

function inconsistent({ chains }: SystemStatus): string[] {
  const found = chains.filter(({ inconsistent_blocks }) => inconsistent_blocks > 0);
  if (found.length === 0) return [];
  const counts = found.map(
    ({ chain, inconsistent_blocks }) => `${chain} ${formatNumber(inconsistent_blocks)}`,
  );
  return [
    `inconsistent    ${counts.join(', ')}: blocks with extrinsics that have no outcome event, or several`,
  ];
}

function outdated({ chains, outdated_snapshots }: SystemStatus): string[] {
  const blocks = chains.reduce((sum, { outdated_blocks }) => sum + outdated_blocks, 0);
  if (blocks + outdated_snapshots === 0) return [];
  const what = `${plural(blocks, 'block')}, ${plural(outdated_snapshots, 'snapshot or price', 'snapshots and prices')}`;
  return [`outdated        ${what} were loaded by another version of the decoders: ingest them again`];
}
