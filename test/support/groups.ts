import { filesReachedFrom, tests } from './source-files.ts';

export type Group = 'unit' | 'core' | 'rest' | 'services';

/**
 * What `npm test` proves on the embedded engine, beside the unit tests: a file or a folder each. A file belongs here if
 * it keeps one of these promises, needs nothing but Node and npm, and takes a few seconds.
 */
export const CORE: Readonly<Record<string, readonly string[]>> = {
  'each metric has the rows of the reference': [
    'test/aggregate/metrics/amounts.test.ts',
    'test/aggregate/metrics/equality.test.ts',
    'test/aggregate/metrics/hand.test.ts',
    'test/aggregate/metrics/seeds.test.ts',
  ],
  'what was acknowledged survives a kill': ['test/exactness/kill.test.ts', 'test/ingest/load/loader.test.ts'],
  'input is decoded, stored or set aside': [
    'test/ingest/decode/',
    'test/ingest/dead-letters/dead-letters.test.ts',
    'test/ingest/odd-values.test.ts',
    'test/ingest/raw/heights.test.ts',
    'test/ingest/raw/ordering.test.ts',
    'test/ingest/raw/parse-sql.test.ts',
    'test/ingest/refused-input.test.ts',
    'test/ingest/sources/collect.test.ts',
    'test/ingest/sources/parquet.test.ts',
  ],
  'the embedded ports keep their contracts': [
    'test/aggregate/columns.test.ts',
    'test/infra/clickhouse/schema.test.ts',
    'test/infra/sql.test.ts',
    'test/infra/embedded/',
    'test/infra/ports/embedded.test.ts',
  ],
  'answers and their description agree': [
    'test/serve/http/openapi.test.ts',
    'test/serve/metrics/errors.test.ts',
    'test/serve/metrics/freshness.test.ts',
    'test/serve/metrics/running-day.test.ts',
  ],
  'applications sign users in': [
    'test/serve/accounts/api-keys.test.ts',
    'test/serve/accounts/sign-in.test.ts',
    'test/serve/identity/oauth/attacks.test.ts',
    'test/serve/identity/oauth/authorize.test.ts',
    'test/serve/identity/oauth/bad-input.test.ts',
    'test/serve/identity/oauth/client-authentication.test.ts',
    'test/serve/identity/oauth/clients/npm.test.ts',
    'test/serve/identity/oauth/discovery.test.ts',
    'test/serve/identity/oauth/end-of-access.test.ts',
    'test/serve/identity/oauth/prompt.test.ts',
    'test/serve/identity/oauth/races.test.ts',
    'test/serve/identity/oauth/token-endpoints.test.ts',
    'test/serve/identity/oauth/token.test.ts',
    'test/serve/identity/oauth/user-endpoints.test.ts',
  ],
  'alerts are taken in, grouped and followed': [
    'test/serve/alerts/analytics.test.ts',
    'test/serve/alerts/bad-input.test.ts',
    'test/serve/alerts/event-consumers.test.ts',
    'test/serve/alerts/incidents.test.ts',
    'test/serve/alerts/intake.test.ts',
    'test/serve/alerts/integrations.test.ts',
    'test/serve/alerts/paging.test.ts',
    'test/serve/alerts/recorded.test.ts',
    'test/serve/alerts/refused-forms.test.ts',
  ],
  'every page is served': ['test/serve/console/pages.test.ts', 'test/serve/pages/errors.test.ts'],
};

/** These need nothing but code, and take longer than a unit test may. */
const LONG = ['test/ingest/node/decode/referee.test.ts'];

/**
 * Test files by what they need: nothing but code (`unit`), the embedded engine (`core`, and in `rest` what takes longer
 * or drives other programs), Kafka, Redis and ClickHouse (`services`).
 */
export const groups: Readonly<Record<Group, readonly string[]>> = grouped();

function grouped() {
  const all: Record<Group, string[]> = { unit: [], core: [], rest: [], services: [] };
  for (const { path } of tests) if (path.endsWith('.test.ts')) all[groupOf(path)].push(path);
  return all;
}

function groupOf(path: string): Group {
  const reached = filesReachedFrom(path);
  const reaches = (file: string) => reached.some((one) => one.path === file);
  const uses = (name: string) => reached.some(({ packages }) => packages.includes(name));
  if (reaches('test/support/services/service.ts')) return 'services';
  const needsMore =
    reaches('infra/embedded/store.ts') ||
    uses('chdb') ||
    uses('node:child_process') ||
    uses('playwright-core');
  if (!needsMore) return LONG.includes(path) ? 'rest' : 'unit';
  return Object.values(CORE)
    .flat()
    .some((place) => path.startsWith(place))
    ? 'core'
    : 'rest';
}
