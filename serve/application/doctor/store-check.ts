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

/** Accepted difference of two clocks. */
const CLOCK_MS_MAX = 2000;
const NAMES_MAX = 5;
const DAMAGE_MAX = 5;

/** Checks an open store: engine, schema, clock and addresses. */
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
    return [failed('store', `does not answer: ${reasonOf(error)}`, 'read the log of the server')];
  }
}

async function checkVersion(store: Pick<Store, 'rows'>): Promise<Finding> {
  const [row] = await store.rows<{ version: string }>(sql`SELECT version() AS version`);
  return fine('store', `answers; ClickHouse ${row?.version}`);
}

async function checkSchema(store: Pick<Store, 'rows'>): Promise<Finding> {
  const { state, version, changes } = await compareSchema(store, schema);
  if (state === 'current') return fine('schema', `version ${version}, matches this program`);
  if (state === 'none') return fine('schema', 'there are no tables yet; the first start creates them');
  if (state === 'newer') {
    const remedy = 'start the version that wrote it, or restore a backup from before the upgrade';
    return failed('schema', `version ${version}, written by a newer program`, remedy);
  }
  const shown = changes.slice(0, NAMES_MAX).join(', ');
  return warning(
    'schema',
    `written by another version: ${plural(changes.length, 'table or view differs', 'tables and views differ')} (${shown}${changes.length > NAMES_MAX ? ', …' : ''})`,
    'make a backup; the next start or `chain-metrics migrate` migrates the schema',
  );
}

async function checkClock(store: Pick<Store, 'rows'>, clock: Clock): Promise<Finding> {
  const before = clock.now();
  const [row] = await store.rows<{ ms: string }>(
    sql`SELECT toString(toUnixTimestamp64Milli(now64(3))) AS ms`,
  );
  const found = compareClocks('the store', Number(row?.ms), before, clock.now());
  if (found.state !== 'ok') return found;
  const written = await lastWritten(store);
  if (written - clock.now() <= CLOCK_MS_MAX) return found;
  return failed(
    'clock',
    `the clock of this machine is ${formatDuration((written - clock.now()) / 1000)} behind the newest stored row`,
    'correct the clock, and synchronize it with NTP',
  );
}

async function hasTable(store: Pick<Store, 'rows'>, { name }: NamedTable): Promise<boolean> {
  const found = await store.rows(
    sql`SELECT name FROM system.tables WHERE database = ${DATABASE} AND name = ${name}`,
  );
  return found.length > 0;
}

/** The time of the newest row of the table of facts. */
async function lastWritten(store: Pick<Store, 'rows'>): Promise<number> {
  if (!(await hasTable(store, meta))) return 0;
  const [row] = await store.rows<{ ms: string }>(
    sql`SELECT toString(toUnixTimestamp64Milli(max(at))) AS ms FROM ${meta}`,
  );
  return Number(row?.ms ?? 0);
}

/** Compares the clock of this machine with that of a service, whose `time` was read between `before` and `after`. */
export function compareClocks(service: string, time: number, before: number, after: number): Finding {
  const difference = time < before ? time - before : Math.max(0, time - after);
  if (Math.abs(difference) <= CLOCK_MS_MAX)
    return fine('clock', `agrees with ${service} within ${CLOCK_MS_MAX / 1000} s`);
  return warning(
    'clock',
    `the clock of ${service} is ${formatDuration(Math.abs(difference) / 1000)} ${difference > 0 ? 'ahead' : 'behind'}`,
    'synchronize the clocks of all machines with NTP: dates, sessions and alerts depend on them',
  );
}

export function checkDamage(damage: readonly Damage[]): Finding[] {
  if (damage.length === 0) return [fine('damage', 'no damaged files were found')];
  const shown = damage
    .slice(0, DAMAGE_MAX)
    .map(({ file, lost, advice }) => warning('damage', `${file}: ${lost}`, advice));
  const more = damage.length - shown.length;
  return more === 0
    ? shown
    : [...shown, warning('damage', `${plural(more, 'more fault')}`, '`chain-metrics check` lists them all')];
}
