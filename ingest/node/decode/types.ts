import type { AccountTexts } from './accounts.ts';
import { Undecodable } from './cursor.ts';
import { camelCase, fieldName } from './names.ts';
import { specialOf } from './special-types.ts';
import {
  arrayReader,
  type Field,
  listReader,
  NULL,
  objectReader,
  type Primitive,
  sequenceReader,
  type TypeEntry,
  type TypeReaders,
  type ValueReader,
  type Variant,
} from './value-reader.ts';

/** The types of a runtime. Compiles each type into a reader on first use. */
export class TypeTable implements TypeReaders {
  readonly accounts: AccountTexts;
  readonly #entries: ReadonlyMap<number, TypeEntry>;
  readonly #readers = new Map<number, ValueReader>();
  readonly #readCall: ValueReader;
  callType: number | undefined;

  /** `readCall` reads a call inside a value. */
  constructor(entries: readonly TypeEntry[], accounts: AccountTexts, readCall: ValueReader) {
    this.accounts = accounts;
    this.#entries = new Map(entries.map((entry) => [entry.id, entry]));
    this.#readCall = readCall;
  }

  entry(type: number): TypeEntry {
    const entry = this.#entries.get(type);
    if (entry === undefined) throw new Undecodable(`no type ${type} in the metadata`);
    return entry;
  }

  /** Unwraps tuples and tuple structs of one element, because they print as that element. */
  root(type: number): TypeEntry {
    let entry = this.entry(type);
    for (let steps = 0; steps < this.#entries.size; steps += 1) {
      const inner = onlyPart(entry);
      if (inner === undefined) return entry;
      entry = this.entry(inner);
    }
    throw new Undecodable(`type ${type} contains only itself`);
  }

  isCall(type: number): boolean {
    return type === this.callType || /^[^:]+_runtime::RuntimeCall$/.test(this.entry(type).path.join('::'));
  }

  isBytes(type: number): boolean {
    const { def } = this.root(type);
    return def.tag === 'sequence' && this.#isByte(def.value);
  }

  /** Whether values have no bytes and print as null. */
  isNull(type: number): boolean {
    const { def } = this.root(type);
    return ['composite', 'tuple', 'variant'].includes(def.tag) && (def.value as unknown[]).length === 0;
  }

  reader(type: number): ValueReader {
    const known = this.#readers.get(type);
    if (known !== undefined) return known;
    let compiled: ValueReader = NULL;
    // A recursive type uses this reader, because it counts the depth.
    this.#readers.set(type, (cursor) => cursor.readNested(compiled));
    compiled = this.#compile(type);
    this.#readers.set(type, compiled);
    return compiled;
  }

  list(fields: readonly Pick<Field, 'type'>[]): ValueReader[] {
    return fields.map(({ type }) => this.reader(type));
  }

  /** Named fields print as an object, others as a list, and a single unnamed field as its value. */
  fields(fields: readonly Field[]): ValueReader {
    const readers = this.list(fields);
    const [first = NULL, ...others] = readers;
    const names = fields.flatMap(({ name }) => (name === undefined ? [] : [fieldName(name)]));
    if (names.length > 0 && names.length === fields.length) return objectReader(names, readers);
    return others.length === 0 ? first : listReader(readers);
  }

  variants(variants: readonly Variant[]): ValueReader {
    if (variants.length === 0) return NULL;
    const areNames = variants.every(({ fields }) => this.#isNullVariant(fields));
    const readers: ValueReader[] = [];
    for (const { index, name, fields } of variants) {
      readers[index] = areNames ? constant(JSON.stringify(name)) : variantReader(name, this.fields(fields));
    }
    return (cursor) => {
      const index = cursor.byte();
      const read = readers[index];
      if (read === undefined) throw new Undecodable(`no variant ${index} at byte ${cursor.at - 1}`);
      return read(cursor);
    };
  }

  #isNullVariant([first, ...others]: readonly Field[]): boolean {
    if (first === undefined) return true;
    return others.length === 0 && first.name === undefined && this.isNull(first.type);
  }

  #isByte(type: number): boolean {
    const { def } = this.root(type);
    return def.tag === 'primitive' && def.value.tag === 'u8';
  }

  #compile(type: number): ValueReader {
    if (this.isCall(type)) return this.#readCall;
    const entry = this.entry(type);
    return specialOf(entry)?.(this, entry) ?? this.#compileStructure(entry);
  }

  #compileStructure({ id, def }: TypeEntry): ValueReader {
    switch (def.tag) {
      case 'composite':
        return this.fields(def.value);
      case 'variant':
        return this.variants(def.value);
      case 'sequence':
        if (this.#isByte(def.value)) return (cursor) => cursor.hex(cursor.length());
        return sequenceReader(this.reader(def.value));
      case 'array': {
        const { type, len } = def.value;
        return this.#isByte(type) ? (cursor) => cursor.hex(len) : arrayReader(this.reader(type), len);
      }
      case 'tuple': {
        const [first = NULL, ...others] = def.value.map((type) => this.reader(type));
        return others.length === 0 ? first : listReader([first, ...others]);
      }
      case 'primitive':
        return PRIMITIVES[def.value.tag];
      case 'compact':
        return this.#compact(def.value);
      case 'bitSequence':
        return this.#bits(def.value.bitStoreType);
      default:
        throw new Undecodable(`type ${id} is of an unknown kind`);
    }
  }

  /** A compact number, or structs of one field around it. */
  #compact(type: number): ValueReader {
    if (this.isNull(type)) return NULL;
    const { def } = this.root(type);
    if (def.tag === 'primitive') {
      const size = Number(def.value.tag.slice(1)) / 8;
      return (cursor) => cursor.compact(size);
    }
    const [only, ...others] = def.tag === 'composite' ? def.value : [];
    if (only?.name === undefined || others.length > 0) throw new Undecodable(`type ${type} is never compact`);
    return objectReader([fieldName(only.name)], [this.#compact(only.type)]);
  }

  /** Hex of the bytes, rounded up to whole stores. */
  #bits(store: number): ValueReader {
    const { def } = this.root(store);
    const bits = def.tag === 'primitive' ? Number(def.value.tag.slice(1)) : Number.NaN;
    if (Number.isNaN(bits)) throw new Undecodable(`type ${store} stores no bits`);
    return (cursor) => cursor.hex(Math.ceil(cursor.length() / bits) * (bits / 8));
  }
}

/** The type of the single element of a tuple or tuple struct that is not a special type. */
function onlyPart(entry: TypeEntry): number | undefined {
  const { def } = entry;
  if (def.tag === 'tuple') return def.value.length === 1 ? def.value[0] : undefined;
  if (def.tag !== 'composite' || def.value.length !== 1 || specialOf(entry) !== undefined) return undefined;
  return def.value[0]?.name === undefined ? def.value[0]?.type : undefined;
}

const constant =
  (text: string): ValueReader =>
  () =>
    text;

/** Prints a value under the name of its variant. */
function variantReader(name: string, read: ValueReader): ValueReader {
  const before = `{${JSON.stringify(camelCase(name))}:`;
  return read === NULL ? constant(`${before}null}`) : (cursor) => `${before}${read(cursor)}}`;
}

const PRIMITIVES: Record<Primitive, ValueReader> = {
  bool: (cursor) => {
    const value = cursor.byte();
    if (value > 1) throw new Undecodable(`a bool of ${value} at byte ${cursor.at - 1}`);
    return value === 1 ? 'true' : 'false';
  },
  char: (cursor) => `"${cursor.u32()}"`,
  str: (cursor) => {
    const size = cursor.length();
    const from = cursor.advance(size);
    return JSON.stringify(cursor.bytes.toString('utf8', from, from + size));
  },
  u8: (cursor) => `"${cursor.byte()}"`,
  u16: (cursor) => cursor.unsigned(2),
  u32: (cursor) => `"${cursor.u32()}"`,
  u64: (cursor) => cursor.unsigned(8),
  u128: (cursor) => cursor.unsigned(16),
  u256: (cursor) => cursor.unsigned(32),
  i8: (cursor) => cursor.signed(1),
  i16: (cursor) => cursor.signed(2),
  i32: (cursor) => cursor.signed(4),
  i64: (cursor) => cursor.signed(8),
  i128: (cursor) => cursor.signed(16),
  i256: (cursor) => cursor.signed(32),
};
