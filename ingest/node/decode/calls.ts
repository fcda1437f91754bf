import { type Cursor, Undecodable } from './cursor.ts';
import { camelCase } from './names.ts';
import { type PalletEnums, PalletVariants } from './pallet-variants.ts';
import type { TypeTable } from './types.ts';
import {
  arrayReader,
  type Field,
  listReader,
  objectReader,
  sequenceReader,
  type ValueReader,
  type Variant,
} from './value-reader.ts';

interface CallReader {
  /** `{"pallet":…,"method":…}` */
  readonly method: string;
  /** For an extrinsic, or for a call that is printed with its name. */
  readonly args: ValueReader;
  /** For a call that is nested deeper. */
  readonly innerArgs: ValueReader;
}

/** The calls of a runtime, each compiled when it is first read. */
export class CallTable {
  readonly #types: TypeTable;
  readonly #readers: PalletVariants<CallReader>;

  constructor(pallets: ReadonlyMap<number, PalletEnums>, types: TypeTable) {
    this.#types = types;
    const compile = (pallet: string, call: Variant) => this.#compile(pallet, call);
    this.#readers = new PalletVariants({ pallets, types, kind: 'calls', compile });
  }

  /** An extrinsic's call: its name and its arguments. */
  readonly read = (cursor: Cursor): { method: string; args: string } => {
    const { method, args } = this.#readers.read(cursor);
    return { method, args: cursor.readNested(args) };
  };

  /** A call that is an argument, or an element of one, is printed with its name. */
  readonly readNamed: ValueReader = (cursor) => {
    const { method, args } = this.read(cursor);
    return `{"method":${method},"args":${args}}`;
  };

  /** A call that is nested deeper is printed with its index. */
  readonly readInner: ValueReader = (cursor) => {
    const at = cursor.at;
    const { innerArgs } = this.#readers.read(cursor);
    const index = cursor.bytes.toString('hex', at, at + 2);
    return `{"callIndex":"0x${index}","args":${cursor.readNested(innerArgs)}}`;
  };

  #compile(pallet: string, call: Variant): CallReader {
    // Arguments keep the names of the metadata.
    const names = call.fields.map(({ name }, at) => name ?? `param${at}`);
    return {
      method: JSON.stringify({ pallet: camelCase(pallet), method: camelCase(call.name) }),
      args: objectReader(
        names,
        call.fields.map((field) => this.#argument(field)),
      ),
      innerArgs: objectReader(names, this.#types.list(call.fields)),
    };
  }

  #argument({ name, type }: Field): ValueReader {
    const types = this.#types;
    const { id, path, params, def } = types.root(type);
    const named = (inner: number) =>
      types.isCall(types.root(inner).id) ? this.readNamed : types.reader(inner);
    if (types.isCall(id)) return this.readNamed;
    if (types.isBytes(id)) return name === 'call' ? this.#opaque(types.reader(id)) : types.reader(id);
    if (def.tag === 'sequence') return sequenceReader(named(def.value));
    if (def.tag === 'tuple' && def.value.length > 1) return listReader(def.value.map(named));
    if (def.tag === 'array' && types.isCall(types.root(def.value.type).id)) {
      return arrayReader(this.readNamed, def.value.len);
    }
    const wrapped = /Wrapper(Keep)?Opaque$/.test(path.at(-1) ?? '') ? params[0]?.type : undefined;
    const isOpaqueCall = name === 'call' && wrapped !== undefined && types.isCall(wrapped);
    return isOpaqueCall ? this.#opaque(types.reader(id)) : types.reader(type);
  }

  /** Decodes bytes as a call, or as bytes if they are not a call. */
  #opaque(readBytes: ValueReader): ValueReader {
    return (cursor) => {
      const { at } = cursor;
      try {
        return cursor.part(cursor.length()).readAll(this.readNamed);
      } catch (error) {
        if (!(error instanceof Undecodable)) throw error;
        cursor.at = at;
        return readBytes(cursor);
      }
    };
  }
}
