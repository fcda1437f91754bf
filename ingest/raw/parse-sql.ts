import { raw, type Sql, sql } from '../../infra/sql.ts';
import { SS58_MAX_CHARS } from '../chains/address.ts';
import { RENAMED_EVENTS, RENAMED_PALLETS } from '../decode/renamed.ts';

/**
 * ClickHouse expressions that parse the notations of Sidecar, as SQL text. The decoders in `decode/` follow the same rules.
 */

/**
 * Adds columns to `from` in nested SELECTs; each step can use the columns of the earlier ones. Within one SELECT the engine
 * expands aliases at every use, so nested aliases grow exponentially; a step is planned and computed once.
 */
export function inSteps(from: Sql, ...steps: readonly string[]): Sql {
  return steps.reduce((before, columns) => sql`(SELECT *, ${raw(columns)} FROM ${before})`, from);
}

/** The names of columns, for a view that passes them on. */
export const namesOf = (columns: Readonly<Record<string, string>>): Sql =>
  raw(Object.keys(columns).join(', '));

/** A planck amount from decimal digits, a JSON integer or 0x-hex; null for anything else. */
export function amountSql(text: string): string {
  // Fast path: 38 digits are always below 2^128, and parsing takes a fifth of the time of `extract`.
  const isShort = `match(${text}, '^[0-9]{0,38}$')`;
  // 39 digits may exceed 128 bits: the cast returns null then.
  const decimal = `accurateCastOrNull(toUInt256OrNull(extract(${text}, '^0*([0-9]{1,39})$')), 'UInt128')`;
  const hex = `reinterpretAsUInt128(reverse(unhex(nullIf(extract(${text}, '^0x0*([0-9a-fA-F]{1,32})$'), ''))))`;
  return `multiIf(${isShort}, toUInt128OrNull(${text}), startsWith(${text}, '0x'), ${hex}, ${decimal})`;
}

/** The text of an address, which may be plain, `{"id":…}` or `{"address20":…}`; `null` for `{"index":null}`. */
export function addressSql(value: string): string {
  return `if(startsWith(${value}, '{'), extract(${value}, '":\\\\s*"?([^"{}\\\\[\\\\]]+)'), ${value})`;
}

/** The bytes of a base58 text. Decoding takes quadratic time, so longer texts than addresses are skipped. */
export const base58Sql = (text: string) =>
  `tryBase58Decode(if(length(${text}) <= ${SS58_MAX_CHARS}, ${text}, ''))`;

/**
 * The public key (32 bytes) or H160 (20 bytes) of an address text, as raw bytes; empty if it is neither. If the statement
 * has a column with the decoded bytes, pass its name: an expression would be planned at each use, for every batch.
 */
export function keySql(text: string, bytes = base58Sql(text)): string {
  const fromHex = `if(match(${text}, '^0x([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$'), unhex(substring(${text}, 3)), '')`;
  // The key stands between a prefix of one or two bytes and a checksum of two. An `if` would decode the bytes twice.
  const fromBase58 = `substring(${bytes}, -34, 32 * (length(${bytes}) IN (35, 36)))`;
  return `concat(if(startsWith(${text}, '0x'), ${fromHex}, ''), ${fromBase58})`;
}

/** The prefix of hex addresses, and of chains with Ethereum accounts. No SS58 text has this prefix. */
export const NO_PREFIX = 65_535;

/** The SS58 prefix of an address text. Hex is never base58, since base58 has no zero. */
export function prefixSql(text: string, bytes = base58Sql(text)): string {
  const first = `reinterpretAsUInt8(substring(${bytes}, 1, 1))`;
  const second = `reinterpretAsUInt8(substring(${bytes}, 2, 1))`;
  const wide = `bitOr(bitOr(bitShiftLeft(toUInt16(bitAnd(${first}, 63)), 2), bitShiftRight(${second}, 6)), bitShiftLeft(toUInt16(bitAnd(${second}, 63)), 8))`;
  // The first condition decodes the bytes for all others; other expressions would decode them again.
  return `multiIf(length(${bytes}) = 35, toUInt16(${first}), length(${bytes}) = 36, ${wide}, ${NO_PREFIX})`;
}

const lowerFirst = (text: string) => `concat(lower(substring(${text}, 1, 1)), substring(${text}, 2))`;
const upperFirst = (text: string) => `concat(upper(substring(${text}, 1, 1)), substring(${text}, 2))`;

/** A pallet in lowerCamel, as Sidecar writes it, even if an archive wrote `Balances` or `EVM`. */
export function palletWrittenSql(text: string): string {
  return `if(match(${text}, '^[A-Z]+$'), lower(${text}), ${lowerFirst(text)})`;
}

/** Pallets with several capitals in metadata. A list, since an expression for all names would slow down every batch. */
const WITH_CAPITALS = { eVMAccounts: 'evmAccounts', eVMChainId: 'evmChainId' };
const PRESENT_NAMES = { ...RENAMED_PALLETS, ...WITH_CAPITALS };

export function palletSql(written: string): string {
  return transform(written, Object.keys(PRESENT_NAMES), Object.values(PRESENT_NAMES), written);
}

/** A call in camelCase, from camelCase or the snake_case of metadata. */
export function callSql(text: string): string {
  const words = `splitByChar('_', ${text})`;
  const camel = `arrayStringConcat(arrayMap((word, k) -> if(k = 1, word, ${upperFirst('word')}), ${words}, arrayEnumerate(${words})))`;
  return `if(position(${text}, '_') > 0, ${camel}, ${lowerFirst(text)})`;
}

export function eventSql(pallet: string, text: string): string {
  const pascal = upperFirst(text);
  return transform(
    `concat(${pallet}, '.', ${pascal})`,
    Object.keys(RENAMED_EVENTS),
    Object.values(RENAMED_EVENTS),
    pascal,
  );
}

function transform(value: string, from: readonly string[], to: readonly string[], otherwise: string): string {
  const list = (names: readonly string[]) => `[${names.map((name) => `'${name}'`).join(', ')}]`;
  return `transform(${value}, ${list(from)}, ${list(to)}, ${otherwise})`;
}
