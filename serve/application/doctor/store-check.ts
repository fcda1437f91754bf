import { compareSchema, meta } from '../../../infra/clickhouse/schema.ts';
import { reasonOf } from '../../../infra/errors.ts';
import { type Finding, failed, fine, warning } from '../../../infra/finding.ts';
import { formatDuration, plural } from '../../../infra/format.ts';
import type { Clock, Damage, Store } from '../../../infra/ports.ts';
import { DATABASE, type NamedTable, sql } from '../../../infra/sql.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import { schema } from '../compose/stored-schema.ts';
import { checkAddresses } from './addresses-check.ts';

/** Clocks that differ by less are the same. */
const CLOCK_MS_MAX = 2000;
const NAMES_MAX = 5;
const DAMAGE_MAX = 5;

/**
 * What an open store tells: the version of the engine, its schema against that of this version, its clock, and whether
 * its addresses are of their chains.
 */
export async function checkStore(
  store: Pick<Store, 'rows'>,
  clock: Clock,
  registry: Registry,
): Promise<Finding[]> {
  try {
    const found = [await checkVersion(store), await checkSchema(store), await checkClock(store, clock)];
    const isReadable = found.every(({ state }) => state !== 'failed') && (await hasTable(store, blocks));
    return isReadable ? [...found, ...(await checkAddresses(store, registry))] : found;
  } catch (error) {
    return [failed('store', `it does not answer: ${reasonOf(error)}`, 'look at the log of the server')];
  }
}

async function checkVersion(store: Pick<Store, 'rows'>): Promise<Finding> {
  const [row] = await store.rows<{ version: string }>(sql`SELECT version() AS version`);
  return fine('store', `it answers; ClickHouse ${row?.version}`);
}

async function checkSchema(store: Pick<Store, 'rows'>): Promise<Finding> {
  const { state, version, changes } = await compareSchema(store, schema);
  if (state === 'current') return fine('schema', `version ${version}, that of this program`);
  if (state === 'none') return fine('schema', 'there are no tables yet; the first start makes them');
  if (state === 'newer') {
    const remedy = 'start the version that wrote it, or restore a backup of before the upgrade';
    return failed('schema', `version ${version}, of a newer program than this one`, remedy);
  }
  const shown = changes.slice(0, NAMES_MAX).join(', ');
  return warning(
    'schema',
    `of another version of the program: ${plural(changes.length, 'table or view', 'tables and views')} differ (${shown}${changes.length > NAMES_MAX ? ', …' : ''})`,
    'make a backup; the next start migrates it, as `chain-metrics migrate` does',
  );
}

async function checkClock(store: Pick<Store, 'rows'>, clock: Clock): Promise<Finding> {
  const asked = clock.now();
  const [row] = await store.rows<{ ms: string }>(
    sql`SELECT toString(toUnixTimestamp64Milli(now64(3))) AS ms`,
  );
  const found = compareClocks('the store', Number(row?.ms), asked, clock.now());
  if (found.state !== 'ok') return found;
  const written = await lastWritten(store);
  if (written - clock.now() <= CLOCK_MS_MAX) return found;
  return failed(
    'clock',
    `this machine is ${formatDuration((written - clock.now()) / 1000)} behind the time of what it stored last`,
    'set the clock, and keep it right with NTP',
  );
}

async function hasTable(store: Pick<Store, 'rows'>, { name }: NamedTable): Promise<boolean> {
  const found = await store.rows(
    sql`SELECT name FROM system.tables WHERE database = ${DATABASE} AND name = ${name}`,
  );
  return found.length > 0;
}

/** When facts about the store were last written to it. */
async function lastWritten(store: Pick<Store, 'rows'>): Promise<number> {
  if (!(await hasTable(store, meta))) return 0;
  const [row] = await store.rows<{ ms: string }>(
    sql`SELECT toString(toUnixTimestamp64Milli(max(at))) AS ms FROM ${meta}`,
  );
  return Number(row?.ms ?? 0);
}

/** The clock of this machine beside another one, which was read between two moments. */
export function compareClocks(of: string, theirs: number, asked: number, answered: number): Finding {
  const apart = theirs < asked ? theirs - asked : Math.max(0, theirs - answered);
  if (Math.abs(apart) <= CLOCK_MS_MAX) return fine('clock', `as that of ${of}, to ${CLOCK_MS_MAX / 1000} s`);
  return warning(
    'clock',
    `that of ${of} is ${formatDuration(Math.abs(apart) / 1000)} ${apart > 0 ? 'ahead' : 'behind'}`,
    'keep the clocks of all machines right with NTP; dates, sessions and alerts go by them',
  );
}

export function checkDamage(damage: readonly Damage[]): Finding[] {
  if (damage.length === 0) return [fine('damage', 'nothing was found damaged')];
  const shown = damage
    .slice(0, DAMAGE_MAX)
    .map(({ file, lost, advice }) => warning('damage', `${file}: ${lost}`, advice));
  const more = damage.length - shown.length;
  return more === 0
    ? shown
    : [...shown, warning('damage', `${plural(more, 'more fault')}`, '`chain-metrics check` lists them all')];
}
