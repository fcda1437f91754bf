import { createHash } from 'node:crypto';
import type { Table } from '../../infra/table.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { dependencies, type MaterializedMetric } from '../metric.ts';
import { sortByLevel } from '../planner/levels.ts';

/** Any days and hours do, because the text of a statement differs only in the dates themselves. */
const RANGES = [
  { from: '2020-01-01', until: '2020-01-02' },
  { from: '2020-01-01 01:00:00', until: '2020-01-01 02:00:00' },
];

/**
 * The tables of these metrics with their recipes. A recipe is a hash of everything that makes rows from raw tables: the
 * statement for every relay chain, the version of the fold, and the recipes of the metrics that it reads. A stored table
 * with another recipe is emptied and computed again.
 */
export function tablesWithRecipes(metrics: readonly MaterializedMetric[]): Table[] {
  const recipes = new Map<string, string>();
  for (const { metric } of sortByLevel(metrics)) {
    const ranges = metric.materialized === 'hourly' ? RANGES : RANGES.slice(0, 1);
    const statements = RELAY_CHAINS.flatMap((relay_chain) =>
      ranges.map((range) => metric.select({ relays: [relay_chain], ...range }).text),
    );
    const inputs = [...dependencies(metric)].sort().map((table) => recipes.get(table) ?? '');
    const changed = metric.entities && RELAY_CHAINS.map((relay) => metric.entities?.changed(relay, 0n).text);
    const version = metric.fold ? (metric.version ?? 1) : null;
    const recipe = JSON.stringify([statements, version, inputs, ...(changed ? [changed] : [])]);
    recipes.set(metric.name, createHash('sha256').update(recipe).digest('hex'));
  }
  return metrics.map((metric) => ({ ...metric.table, recipe: recipes.get(metric.name) as string }));
}
