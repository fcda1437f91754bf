import type { Missing } from '../../../aggregate/status/heights.ts';
import type { SystemStatus } from '../../../aggregate/status/status.ts';
import type { Damage } from '../../../infra/ports.ts';
import { command, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable, duration, number, plural } from '../words.ts';

export const status = command<[], { json?: boolean }>({
  name: 'status',
  description: 'show heights, holes and lag of every chain, what was refused and what is computed',
  args: (command) => command.option('--json', 'print it as JSON'),
  help: `Examples:
  chain-metrics status
  chain-metrics status --json | jq '.chains[] | {chain, lag_seconds}'`,
  run: ({ options, config }) =>
    withOperations(config, async (client) => {
      const [status, damage] = [await client.call('status', {}), await client.call('damage', {})];
      print({ ...status, damage }, options, () => describe(status, damage, client.location));
      return EXIT.ok;
    }),
});

function describe(status: SystemStatus, damage: readonly Damage[], place: string): string {
  return `${[`data directory  ${place}`, ...demo(status), ...damaged(damage), chains(status), metrics(status), refused(status)].join('\n\n')}\n`;
}

const demo = ({ demo_data }: SystemStatus): string[] =>
  demo_data ? ['DEMO DATA       made up, not measured'] : [];

const DAMAGE_SHOWN = 5;

function damaged(damage: readonly Damage[]): string[] {
  if (damage.length === 0) return [];
  const shown = damage.slice(0, DAMAGE_SHOWN).map(({ file, lost }) => `  ${file}: ${lost}`);
  const more = damage.length - shown.length;
  return [
    [
      `DAMAGED         ${plural(damage.length, 'fault')}; \`chain-metrics check\` says what to do`,
      ...shown,
      ...(more > 0 ? [`  … and ${plural(more, 'more fault')}`] : []),
    ].join('\n'),
  ];
}

function chains({ chains }: SystemStatus): string {
  if (chains.length === 0) return 'No blocks yet: `chain-metrics ingest PATH…` takes them in.';
  const rows = chains.map((chain) => [
    chain.relay_chain,
    chain.chain,
    number(chain.blocks),
    number(chain.lowest_block),
    number(chain.highest_block),
    number(chain.missing_blocks.total),
    number(chain.skipped_heights),
    chain.newest_block_at?.replace('T', ' ').slice(0, 19) ?? 'none',
    chain.lag_seconds === null ? 'none' : duration(chain.lag_seconds),
    number(chain.untimed_blocks),
  ]);
  const head = [
    'relay chain',
    'chain',
    'blocks',
    'lowest',
    'highest',
    'missing',
    'skipped',
    'newest block (UTC)',
    'lag',
    'untimed',
  ];
  const holes = chains
    .filter((chain) => chain.missing_blocks.total > 0)
    .map((chain) => [`  ${chain.chain}`, ranges(chain.missing_blocks)]);
  const table = alignedTable([head, ...rows], [2, 3, 4, 5, 6, 9]);
  return holes.length === 0 ? table : `${table}\n\nmissing heights\n${alignedTable(holes)}`;
}

function ranges({ ranges, ranges_total }: Missing<number>): string {
  const shown = ranges.map(({ from, to }) =>
    from === to ? number(from) : `${number(from)} to ${number(to)}`,
  );
  const more = ranges_total - ranges.length;
  return `${shown.join('; ')}${more > 0 ? `; and ${plural(more, 'range')} more` : ''}`;
}

function metrics({ metrics, computing }: SystemStatus): string {
  const rows = metrics.map((metric) => [
    metric.metric.replaceAll('_', '-'),
    metric.version,
    metric.computed_at?.replace('T', ' ').slice(0, 19) ?? 'never',
    number(metric.windows),
    metric.pending_from === null
      ? ''
      : `${metric.pending_reason?.replaceAll('_', ' ')}, ${metric.pending_from} on`,
  ]);
  const lines = [
    alignedTable([['metric', 'version', 'last computed (UTC)', 'windows', 'pending'], ...rows], [1, 3]),
    '',
  ];
  if (computing.windows_total > 0) {
    lines.push(
      `computing       ${number(computing.windows_done)} of ${plural(computing.windows_total, 'window')}`,
    );
  }
  const held = computing.held ? ', held until the load that runs is done' : '';
  lines.push(
    `waiting         ${plural(computing.touched_days_waiting, 'day')}, ${plural(computing.jobs_waiting, 'job')}${held}`,
  );
  lines.push(...failing(metrics));
  lines.push(`failed          ${plural(computing.failed.length, 'job')}`);
  for (const { id, attempts, reason } of computing.failed) {
    lines.push(`  ${id} after ${plural(attempts, 'try', 'tries')}: ${reason}`);
  }
  return lines.join('\n');
}

/** The metrics that fail themselves; the table says which others wait for them. */
function failing(metrics: SystemStatus['metrics']): string[] {
  const failures = metrics.flatMap(({ metric, failures }) => failures.filter((one) => one.metric === metric));
  return failures.flatMap((failure) => {
    const name = failure.metric.replaceAll('_', '-');
    const at = (time: string) => time.replace('T', ' ').slice(0, 19);
    const next =
      failure.next_attempt_at === null
        ? `it waits for you: mend the cause, then \`chain-metrics rebuild ${name}\``
        : `tried again at ${at(failure.next_attempt_at)} UTC`;
    return [
      `FAILING         ${name} (${failure.lane}) since ${at(failure.failed_since)} UTC, ${plural(failure.attempts, 'attempt')}; ${next}`,
      `  ${failure.reason}`,
    ];
  });
}

function refused(status: SystemStatus): string {
  const { dead_letters, refused_facts } = status;
  const latest = dead_letters.latest.map(({ received_at, file, line, reason }) => [
    `  ${received_at.replace('T', ' ').slice(0, 19)}`,
    `${file}:${line}`,
    reason,
  ]);
  return [
    `dead letters    ${number(dead_letters.total)}${latest.length > 0 ? ', the latest:' : ''}`,
    ...(latest.length > 0 ? [alignedTable(latest)] : []),
    `refused facts   ${number(refused_facts)}`,
    ...outdated(status),
  ].join('\n');
}

function outdated({ chains, outdated_snapshots }: SystemStatus): string[] {
  const blocks = chains.reduce((sum, { outdated_blocks }) => sum + outdated_blocks, 0);
  if (blocks + outdated_snapshots === 0) return [];
  const what = `${plural(blocks, 'block')}, ${plural(outdated_snapshots, 'snapshot or price', 'snapshots and prices')}`;
  return [`outdated        ${what}: an earlier version loaded them; ingest them again`];
}
