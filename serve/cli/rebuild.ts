import { ProductError } from '../../infra/errors.ts';
import { findMetrics } from '../metrics/metric-names.ts';
import type { Config } from '../settings.ts';
import { openDisplay } from './display.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import { duration, number, plural } from './words.ts';

/** Days that the store's calendar holds. */
const FIRST_DAY = '1970-01-01';
const LAST_DAY = '2149-06-06';

export async function rebuildCommand(
  metrics: readonly string[],
  { from, until, json = false }: { from?: string; until?: string; json?: boolean },
  config: Config,
): Promise<number> {
  findMetrics(metrics);
  const order = { metrics, from: from ?? FIRST_DAY, until: until ?? LAST_DAY };
  if (order.from >= order.until) {
    throw new ProductError(
      'usage',
      `--from ${order.from} is not before --until ${order.until}, the first day that is left alone`,
    );
  }
  const operator = await openOperator(config);
  const display = openDisplay(process.stderr, { silent: json });
  const started = performance.now();
  try {
    const rebuilt = await operator.rebuild(order, ({ done, total }) => {
      if (total > 0)
        display.show('rebuilding', done / total, `${number(done)} of ${plural(total, 'window')}`);
    });
    display.end();
    const seconds = Math.round(performance.now() - started) / 1000;
    process.stdout.write(
      json
        ? `${JSON.stringify({ ...rebuilt, seconds })}\n`
        : `${plural(rebuilt.windows, 'window')} of ${rebuilt.metrics.map((name) => name.replaceAll('_', '-')).join(', ')} made anew in ${duration(seconds)}\n`,
    );
    return EXIT.ok;
  } finally {
    display.end();
    await operator.close();
  }
}
