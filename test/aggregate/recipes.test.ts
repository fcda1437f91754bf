import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { MaterializedMetric } from '../../aggregate/metric.ts';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { tablesWithRecipes } from '../../aggregate/metrics/recipes.ts';
import { sql } from '../../infra/sql.ts';
import { createTable, createView } from '../../infra/table.ts';
import type { Stream } from '../../ingest/log/topics.ts';
import { DECODER_VERSIONS } from '../../ingest/raw/decoders.ts';
import { blockViews } from '../../ingest/raw/views/blocks.ts';
import { snapshotViews } from '../../ingest/raw/views/snapshots.ts';
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

/** What makes raw rows of the lines of a stream. */
const streams: Lock = Object.fromEntries(
  Object.entries({
    blocks: { prepare: 'prepareBlock', views: blockViews },
    snapshots: { prepare: 'prepareSnapshot', views: snapshotViews },
  }).map(([stream, { prepare, views }]) => {
    const code = hashOfReachableCode([
      { path: 'ingest/log/envelope.ts', name: 'readLine' },
      { path: 'ingest/load/prepare-batch.ts', name: prepare },
      { path: 'ingest/chains/address.ts', name: 'encodeAddress' },
    ]);
    const text = views.map((view) => `${createView(view)}${createTable(view.to)}`).join(code);
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    return [stream, { version: DECODER_VERSIONS[stream as Stream], code: hash }];
  }),
);

const current: Record<string, Lock> = { folds, streams };
if (process.env.WRITE_RECIPES) writeFileSync(LOCK, `${JSON.stringify(current, null, 2)}\n`);
const locked: Record<string, Lock> = JSON.parse(readFileSync(LOCK, 'utf8'));

/** What has other code than the lock says, and the same version. */
function unversioned(kind: string): string[] {
  const [now = {}, then = {}] = [current[kind], locked[kind]];
  const changed = Object.keys(now).filter((name) => now[name]?.code !== then[name]?.code);
  return changed.filter((name) => now[name]?.version === then[name]?.version);
}

const ADVICE = `If rows can change, raise the version there: what is stored is then computed again, or told as outdated. If no row can change, leave it. Then run: ${WRITE}`;

describe('the recipe of raw rows', () => {
  it('has another version when the code or the views of its stream have changed', () => {
    expect(
      unversioned('streams'),
      `What decodes these streams has changed; their versions are in ingest/raw/decoders.ts. ${ADVICE}`,
    ).toEqual([]);
    expect(streams, `recipes.json is not up to date. Run: ${WRITE}`).toEqual(locked.streams);
  });
});

describe('the recipe of a metric', () => {
  it('has another version when the code of its fold has changed', () => {
    expect(
      unversioned('folds'),
      `The code that these folds run has changed; \`version\` is in the metric's file. ${ADVICE}`,
    ).toEqual([]);
    expect(folds, `recipes.json is not up to date. Run: ${WRITE}`).toEqual(locked.folds);
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
    const after = made('a', { select: ({ relays }) => sql`SELECT ${relays.includes('solo') ? 2 : 1}` });
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
