import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { MaterializedMetric } from '../../aggregate/metric.ts';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { tablesWithRecipes } from '../../aggregate/metrics/recipes.ts';
import { sql } from '../../infra/clickhouse/sql.ts';
import { hashOfReachableCode } from '../support/reachable-code.ts';
import { product } from '../support/source-files.ts';

/** By what it makes: the version that its code declares, and a hash of that code. */
type Lock = Record<string, { readonly version: number; readonly code: string }>;

const LOCK = new URL('recipes.json', import.meta.url);
const WRITE = 'WRITE_RECIPES=1 npm test -- test/aggregate/recipes.test.ts';

const declared = new Map(
  product.flatMap(({ path, text }) =>
    [...text.matchAll(/export const (\w+) = metric\(\{\s+record: '(\w+)'/g)].map(
      ([, name = '', record = '']) => [record, { path, name }] as const,
    ),
  ),
);

const folds: Lock = Object.fromEntries(
  materializedMetrics
    .filter(({ fold }) => fold)
    .map(({ name, record, version = 1 }) => {
      const root = declared.get(record);
      if (!root) throw new Error(`no file declares ${record}`);
      return [name, { version, code: hashOfReachableCode([{ ...root, property: 'fold' }]) }];
    }),
);

describe('the recipe of a metric', () => {
  it('has another version when the code of its fold has changed', () => {
    if (process.env.WRITE_RECIPES) writeFileSync(LOCK, `${JSON.stringify(folds, null, 2)}\n`);
    const locked: Lock = JSON.parse(readFileSync(LOCK, 'utf8'));
    const changed = Object.keys(folds).filter((name) => folds[name]?.code !== locked[name]?.code);
    const unchanged = changed.filter((name) => folds[name]?.version === locked[name]?.version);
    expect(
      unchanged,
      `The code that these folds run has changed. If rows can change, raise \`version\` in the metric's file: stored rows are then computed again. If no row can change, leave it. Then run: ${WRITE}`,
    ).toEqual([]);
    expect(folds, `recipes.json is not up to date. Run: ${WRITE}`).toEqual(locked);
  });

  const [table] = materializedMetrics;
  const made = (name: string, more: Partial<MaterializedMetric>): MaterializedMetric => ({
    ...(table as MaterializedMetric),
    name,
    table: { ...(table as MaterializedMetric).table, name },
    select: () => sql`SELECT 1`,
    ...more,
  });
  const recipesOf = (...metrics: MaterializedMetric[]) =>
    tablesWithRecipes(metrics).map(({ recipe }) => recipe);

  it('covers the statements of every relay chain', () => {
    const before = made('a', {});
    const after = made('a', { select: ({ relay_chain }) => sql`SELECT ${relay_chain === 'solo' ? 2 : 1}` });
    expect(recipesOf(after)).not.toEqual(recipesOf(before));
  });

  it('covers the version of the fold', () => {
    const fold = () => [];
    expect(recipesOf(made('a', { fold, version: 2 }))).not.toEqual(recipesOf(made('a', { fold })));
    expect(recipesOf(made('a', { fold, version: 1 }))).toEqual(recipesOf(made('a', { fold })));
  });

  it('covers the recipes of the metrics that it reads', () => {
    const reader = made('b', { select: () => sql`SELECT * FROM ${{ name: 'a' }}` });
    const [, before] = recipesOf(made('a', {}), reader);
    const [, after] = recipesOf(made('a', { select: () => sql`SELECT 2` }), reader);
    expect(after).not.toBe(before);
  });
});
