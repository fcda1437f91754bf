import type { Random } from '../../ingest/demo/random.ts';
import type { Served } from '../aggregate/metrics/coretime/served.ts';
import { parseAccount } from '../reference/accounts.ts';
import { ANSWERS, type Answer, SEARCHES } from '../reference/answers.ts';
import type { Input } from '../reference/input.ts';
import { coretimeRegionHistory, coretimeRegions } from '../reference/metrics/coretime-region.ts';
import type { Row } from './served.ts';

/**
 * What a server answers otherwise than the reference says, path by path: the number of rows, their order and
 * every field that the reference decides. Empty when nothing differs.
 */
export async function differences(served: Served, input: Input, random: Random): Promise<string[]> {
  const found: (string | null)[] = [];
  for (const answer of ANSWERS) {
    const rows = answer.rows(input) as readonly Row[];
    found.push(await difference(served, `/api/${answer.path}${answer.query}`, rows));
    found.push(await ofDays(served, answer, rows, random));
  }
  found.push(...(await ofRegions(served, input, random)), await ofRefusals(served, input));
  for (const { path, rows, keysOf, dayOf } of SEARCHES) {
    const expected = rows(input) as readonly Row[];
    const keys = [...new Set(expected.flatMap((row) => keysOf(row as never)))].filter((key) => key !== null);
    if (keys.length === 0) continue;
    const query = `?${addresses(keys)}`;
    found.push(await difference(served, `/api/${path}${query}`, expected));
    if (dayOf) found.push(await ofDays(served, { path, query, rows, dayOf }, expected, random));
    const some = keys.filter(() => random.chance(0.3));
    if (some.length === 0) continue;
    // One account is written in another way on each network.
    const accounts = some.map((key) => parseAccount(key));
    const meant = expected.filter((row) =>
      keysOf(row as never).some((key) => key !== null && accounts.includes(parseAccount(key))),
    );
    found.push(await difference(served, `/api/${path}?${addresses(some)}`, meant));
  }
  return found.filter((one) => one !== null);
}

async function ofRefusals(served: Served, { refusedFacts }: Input): Promise<string | null> {
  const expected = refusedFacts.map(
    ({ chain, block_number, event_index, extrinsic_index }) =>
      `${chain} ${block_number} ${event_index === null ? `extrinsic ${extrinsic_index}` : `event ${event_index}`}`,
  );
  const [actual, wanted] = [await served.refusedAt(), expected].map((places) => places.toSorted().join('; '));
  return actual === wanted ? null : `refused facts: ${actual} not ${wanted}`;
}

/** The histories of a few regions, and of all regions on their cores. */
async function ofRegions(served: Served, input: Input, random: Random): Promise<(string | null)[]> {
  const some = coretimeRegions(input).filter(() => random.chance(0.1));
  const found: (string | null)[] = [];
  for (const { region_begin, r_core, r_mask } of some) {
    const url = `/api/coretime-region-history?region_begin=${region_begin}&r_core=${r_core}`;
    const core = coretimeRegionHistory(input, { region_begin, r_core });
    found.push(await difference(served, url, core));
    const own = coretimeRegionHistory(input, { region_begin, r_core, r_mask });
    found.push(await difference(served, `${url}&r_mask=${r_mask}`, own));
  }
  return found;
}

const addresses = (keys: readonly string[]) => keys.map((key) => `addresses=${key}`).join('&');

const BOUNDS = [
  [true, true],
  [true, false],
  [false, true],
] as const;

/** The same request for a few days only: which of its dates a filter looks at differs from path to path. */
async function ofDays(
  served: Pick<Served, 'exactRows'>,
  { path, query, dayOf }: Answer,
  rows: readonly Row[],
  random: Random,
): Promise<string | null> {
  const days = rows.map((row) => dayOf?.(row) ?? null).filter((day) => day !== null);
  if (!dayOf || days.length === 0) return null;
  const [from = '', until = ''] = [random.pick(days), random.pick(days)].toSorted();
  const asked = new URLSearchParams(query);
  // Where no date is required one of them can be missing.
  const isRequired = asked.has('start_date');
  const [hasStart, hasEnd] = isRequired ? [true, true] : random.pick(BOUNDS);
  if (hasStart) asked.set('start_date', from);
  if (hasEnd) asked.set('end_date', until);
  const expected = rows.filter((row) => {
    const day = dayOf(row);
    return day !== null && (!hasStart || day >= from) && (!hasEnd || day <= until);
  });
  return difference(served, `/api/${path}?${asked}`, expected);
}

export async function difference(
  served: Pick<Served, 'exactRows'>,
  url: string,
  expected: readonly Row[],
): Promise<string | null> {
  const rows = await served.exactRows(url);
  const name = url.slice(0, 120);
  const counts = rows.length === expected.length ? '' : `, ${rows.length} rows, not ${expected.length}`;
  for (const [index, row] of expected.entries()) {
    const wrong = Object.keys(row).filter((field) => !isSame(row[field], rows[index]?.[field]));
    if (wrong.length === 0) continue;
    const shown = wrong.map((field) => `${field}: ${textOf(rows[index]?.[field])} not ${textOf(row[field])}`);
    return `${name}${counts}, row ${index}: ${shown.join('; ')} in ${textOf(row)}`;
  }
  return counts === '' ? null : `${name}${counts}`;
}

const isSame = (a: unknown, b: unknown) => textOf(a) === textOf(b);

/** As JSON; a bigint, which is gas, with all its digits. */
const textOf = (value: unknown) =>
  JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? `${part} of gas` : part));

/** The rows of an answer with the digits of gas as bigints, which a double does not hold. */
export const exactRows = (body: string): Row[] => JSON.parse(body, withExactGas as Reviver) as Row[];

type Reviver = (key: string, value: unknown) => unknown;

const withExactGas = (key: string, value: unknown, { source }: { source: string }) =>
  typeof value === 'number' && (key === 'gas_limit' || key === 'gas_price') ? BigInt(source) : value;
