import { type Cursor, Undecodable } from './cursor.ts';
import {
  type Field,
  listReader,
  NULL,
  type TypeEntry,
  type TypeReaders,
  type ValueReader,
} from './value-reader.ts';

// Types that Sidecar prints differently from their structure, recognized by their paths.

type Special = (types: TypeReaders, entry: TypeEntry) => ValueReader;

const SPECIAL: readonly (readonly [path: RegExp, special: Special])[] = [
  [/^sp_core::crypto::AccountId32$/, ({ accounts }) => accounts.account32],
  [/^(fp_account|account)::AccountId20$/, ({ accounts }) => accounts.account20],
  [/^polkadot_runtime_common::claims::EthereumAddress$/, ({ accounts }) => accounts.account20],
  [/^sp_runtime::multiaddress::MultiAddress$/, multiAddress],
  [/^sp_runtime::generic::era::Era$/, () => era],
  [/^[^:]+_(democracy|conviction_voting)::vote::Vote$/, () => vote],
  [/^[^:]+_identity::types::Data$/, () => identityData],
  [/^pallet_identity::types::BitFlags$/, bitFlags],
  [/^primitive_types::U(128|256|512)$/, bigUnsigned],
  [/^Range(Inclusive)?$/, range],
  [/^(.*::)?Wrapper(Keep)?Opaque$/, () => (cursor) => cursor.hex(cursor.length())],
  [/^BTreeMap$/, map],
  [/^Option$/, option],
  // Only the type of 2022, which has one field.
  [/^(frame_support::weights|sp_weights)::weight_v2::Weight$/, weight],
];

/** The compiler of a special type; undefined for other types. */
export function specialOf(entry: TypeEntry): Special | undefined {
  const path = entry.path.join('::');
  const special = SPECIAL.find(([pattern]) => pattern.test(path))?.[1];
  return special === weight && fieldsOf(entry).length !== 1 ? undefined : special;
}

const fieldsOf = ({ def }: TypeEntry): readonly Field[] => (def.tag === 'composite' ? def.value : []);

function weight(types: TypeReaders, entry: TypeEntry): ValueReader {
  return types.list(fieldsOf(entry))[0] ?? NULL;
}

function range(types: TypeReaders, entry: TypeEntry): ValueReader {
  return listReader(types.list(fieldsOf(entry)));
}

function option(types: TypeReaders, { def }: TypeEntry): ValueReader {
  const some = def.tag === 'variant' ? def.value.find(({ name }) => name === 'Some') : undefined;
  const read = types.fields(some?.fields ?? []);
  return (cursor) => {
    const flag = cursor.byte();
    if (flag > 1) throw new Undecodable(`an option of ${flag} at byte ${cursor.at - 1}`);
    return flag === 0 ? 'null' : read(cursor);
  };
}

/** Prints an object. A key that is not a string becomes its JSON text. */
function map(types: TypeReaders, { params }: TypeEntry): ValueReader {
  const [key, value] = params.map(({ type = -1 }) => types.reader(type));
  if (key === undefined || value === undefined) throw new Undecodable('a map has no types');
  const entry = (cursor: Cursor) => {
    const text = key(cursor);
    return `${text.startsWith('"') ? text : JSON.stringify(text)}:${value(cursor)}`;
  };
  return (cursor) => {
    const count = cursor.length();
    if (count === 0) return '{}';
    const from = cursor.at;
    let text = `{${entry(cursor)}`;
    if (cursor.at === from) cursor.countEmpty(count);
    for (let remaining = count - 1; remaining > 0; remaining -= 1) text += `,${entry(cursor)}`;
    return `${text}}`;
  };
}

/** Prints an account index as its short address, if the runtime has indices. */
function multiAddress(types: TypeReaders, { def }: TypeEntry): ValueReader {
  const variants = def.tag === 'variant' ? def.value : [];
  const read = types.variants(variants);
  const index = variants.find(({ name }) => name === 'Index');
  const hasIndices = index?.fields.every(({ type }) => !types.isNull(type));
  return (cursor) => {
    if (!hasIndices || cursor.bytes[cursor.at] !== index?.index) return read(cursor);
    cursor.advance(1);
    return `{"index":${types.accounts.index(cursor.compact(8))}}`;
  };
}

const CONVICTION_MAX = 6;

/** The highest bit is set for aye; the others are the conviction. */
function vote(cursor: Cursor): string {
  const conviction = cursor.byte() & 0x7f;
  if (conviction > CONVICTION_MAX) throw new Undecodable(`a vote of conviction ${conviction}`);
  cursor.at -= 1;
  return cursor.hex(1);
}

/** Two bytes hold the period and the phase. A single byte of 0 is an immortal era. */
function era(cursor: Cursor): string {
  const first = cursor.byte();
  if (first === 0) return '{"immortalEra":"0x00"}';
  const encoded = first | (cursor.byte() << 8);
  const period = 2 << (encoded & 15);
  const phase = (encoded >> 4) * Math.max(period >> 12, 1);
  if (period < 4 || phase >= period) throw new Undecodable(`an era of ${encoded}`);
  return `{"mortalEra":["${period}","${phase}"]}`;
}

const DATA_HASHES = ['blakeTwo256', 'sha256', 'keccak256', 'shaThree256'];
const RAW_MAX = 33;

/** Raw data has a kind for each length from 0 to 32 bytes. */
function identityData(cursor: Cursor): string {
  const kind = cursor.byte();
  if (kind === 0) return '{"none":null}';
  if (kind <= RAW_MAX) return `{"raw":${cursor.hex(kind - 1)}}`;
  const hash = DATA_HASHES[kind - RAW_MAX - 1];
  if (hash === undefined) throw new Undecodable(`identity data of kind ${kind}`);
  return `{"${hash}":${cursor.hex(32)}}`;
}

/** Prints a number whose bits are variants as a list of their names. */
function bitFlags(types: TypeReaders, entry: TypeEntry): ValueReader {
  const [field] = fieldsOf(entry);
  const flags = types.entry(entry.params[0]?.type ?? -1).def;
  if (field === undefined || flags.tag !== 'variant') throw new Undecodable('flags have no names');
  const read = types.reader(field.type);
  return (cursor) => {
    const value = BigInt(JSON.parse(read(cursor)));
    const set = flags.value.filter(({ index }) => (value & BigInt(index)) === BigInt(index));
    const all = set.reduce((sum, { index }) => sum | BigInt(index), 0n);
    if (all !== value) throw new Undecodable(`flags of ${value}`);
    return JSON.stringify(set.map(({ name }) => name));
  };
}

function bigUnsigned(_types: TypeReaders, { path }: TypeEntry): ValueReader {
  const size = Number(path.at(-1)?.slice(1)) / 8;
  return (cursor) => cursor.unsigned(size);
}
