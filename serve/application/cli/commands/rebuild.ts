import { toKebabCase } from '../../../../aggregate/metric-name.ts';
import { clampDay, endAfter, FIRST_DAY, LAST_DAY } from '../../../../infra/clickhouse/date-range.ts';
import { parseDay, refuseReversed } from '../arguments.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { formatDuration, formatNumber, plural } from '../format.ts';

export const rebuild = command<[metrics: string[]], { from?: string; until?: string; json?: boolean }>({
  name: 'rebuild',
  description: 'recompute metrics from the stored blocks',
  args: (command) =>
    jsonOption(
      command
        .argument('[metric...]', 'metrics by name or path; default: all')
        .option('--from <date>', 'first day, YYYY-MM-DD', parseDay)
        .option('--until <date>', 'last day, inclusive, YYYY-MM-DD', parseDay),
    ),
  help: `Run it only after a manual repair: late or replaced data are recomputed automatically. Days that depend
on a rebuilt day, such as the 30 days of a rolling sum, are recomputed too.

Examples:
  chain-metrics rebuild
  chain-metrics rebuild daily-fees DailyTps /api/daily-uptime --from 2024-01-01 --until 2024-01-31`,
  run: async ({ args: [metrics], options: { from = FIRST_DAY, until = LAST_DAY, json = false }, config }) => {
    const { findMetrics } = await import('../../../metrics/metric-names.ts');
    findMetrics(metrics);
    refuseReversed({ from, until });
    const display = openDisplay(process.stderr, { silent: json });
    const started = performance.now();
    return withOperations(config, async (client) => {
      try {
        const rebuilt = await client.call(
          'rebuild',
          { metrics, from: clampDay(from), until: endAfter(until) },
          {
            onProgress: ({ done, total }) => {
              if (total === 0) return;
              display.show('rebuilding', {
                done: done / total,
                words: `${formatNumber(done)} of ${plural(total, 'window')}`,
              });
            },
          },
        );
        display.complete(plural(rebuilt.windows, 'window'));
        const seconds = Math.round(performance.now() - started) / 1000;
        const names = rebuilt.metrics.map(toKebabCase).join(', ');
        print(
          { ...rebuilt, seconds },
          { json },
          () => `${plural(rebuilt.windows, 'window')} of ${names} rebuilt in ${formatDuration(seconds)}\n`,
        );
        return EXIT.ok;
      } finally {
        display.end();
      }
    });
  },
});
