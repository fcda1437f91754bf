import type { UnifiedMetadata } from '@polkadot-api/substrate-bindings';
import type { CallTable } from './calls.ts';
import { Cursor, Undecodable } from './cursor.ts';
import { blake2Hex } from './hash.ts';
import type { TypeTable } from './types.ts';
import type { ValueReader } from './value-reader.ts';

/** The content of an extension that Sidecar prints. */
type Role = 'era' | 'nonce' | 'tip';
const ROLES: Readonly<Record<string, Role>> = {
  CheckMortality: 'era',
  CheckEra: 'era',
  CheckNonce: 'nonce',
  ChargeTransactionPayment: 'tip',
  ChargeAssetTxPayment: 'tip',
  SkipCheckIfFeeless: 'tip',
};

interface ExtensionReader {
  readonly role: Role | undefined;
  readonly read: ValueReader;
}

/** Parts of an extrinsic as JSON texts. */
export interface ExtrinsicTexts {
  readonly kind: 'bare' | 'signed' | 'general';
  readonly method: string;
  readonly args: string;
  readonly signature: string;
  readonly era: string;
  readonly nonce: string;
  readonly tip: string;
  readonly hash: string;
  readonly isDecoded: boolean;
}

const BARE_4 = 0x04;
const SIGNED_4 = 0x84;
const BARE_5 = 0x05;
const GENERAL_5 = 0x45;
const IMMORTAL = '{"immortalEra":"0x00"}';
/** Pallet and method of an extrinsic whose call does not decode. */
const UNKNOWN = '{"pallet":"unknown","method":"unknown"}';

export class ExtrinsicReader {
  readonly #types: TypeTable;
  readonly #calls: CallTable;
  readonly #extensions: UnifiedMetadata['extrinsic']['extensionsByVersion'];
  readonly #extensionReaders = new Map<number, readonly ExtensionReader[]>();
  readonly #readSigner: ValueReader;
  readonly #readSignature: ValueReader;
  /** Reads an account as the chain's addresses hold it. */
  readonly readAccount: ValueReader;

  constructor(types: TypeTable, calls: CallTable, extrinsic: UnifiedMetadata['extrinsic']) {
    this.#types = types;
    this.#calls = calls;
    this.#extensions = extrinsic.extensionsByVersion;
    const { address, signature } = extrinsicPartTypes(types, extrinsic);
    const { path, params } = types.root(address);
    const isMultiAddress = path.at(-1) === 'MultiAddress';
    this.readAccount = accountReader(types, isMultiAddress ? (params[0]?.type ?? address) : address);
    this.#readSigner = isMultiAddress ? types.reader(address) : this.readAccount;
    this.#readSignature = signatureReader(types, signature);
  }

  /** Reads an extrinsic with its length prefix. */
  read(bytes: Buffer): ExtrinsicTexts {
    const cursor = new Cursor(bytes);
    const length = cursor.length();
    if (length !== bytes.length - cursor.at) throw new Undecodable(`its length is not ${length}`);
    const version = cursor.byte();
    const texts = { nonce: 'null', tip: 'null', era: IMMORTAL };
    let signature = 'null';
    if (version === SIGNED_4) {
      const signer = this.#readSigner(cursor);
      signature = `{"signature":${this.#readSignature(cursor)},"signer":${signer}}`;
      this.#readExtensions(0, cursor, texts);
    } else if (version === GENERAL_5) this.#readExtensions(cursor.byte(), cursor, texts);
    else if (version !== BARE_4 && version !== BARE_5) throw new Undecodable(`its format is ${version}`);
    const kind = version === SIGNED_4 ? 'signed' : version === GENERAL_5 ? 'general' : 'bare';
    return { kind, signature, ...texts, ...this.#readCall(cursor), hash: blake2Hex(bytes) };
  }

  #readExtensions(version: number, cursor: Cursor, texts: Record<Role, string>): void {
    let readers = this.#extensionReaders.get(version);
    if (readers === undefined) {
      readers = this.#compileExtensions(version);
      this.#extensionReaders.set(version, readers);
    }
    for (const { role, read } of readers) {
      const text = read(cursor);
      if (role === 'era') texts.era = text;
      else if (role !== undefined) texts[role] = numberOf(text, role);
    }
  }

  #compileExtensions(version: number): ExtensionReader[] {
    const extensions = this.#extensions[version];
    if (extensions === undefined) throw new Undecodable(`no extensions of version ${version}`);
    return extensions.map(({ identifier, type }) => ({
      role: ROLES[identifier],
      read: this.#types.reader(type),
    }));
  }

  /** Returns the bytes of a call that does not decode. */
  #readCall(cursor: Cursor): Pick<ExtrinsicTexts, 'method' | 'args' | 'isDecoded'> {
    const from = cursor.at;
    try {
      return { ...cursor.readAll(this.#calls.read), isDecoded: true };
    } catch (error) {
      if (!(error instanceof Undecodable)) throw error;
      const bytes = cursor.bytes.toString('hex', from);
      return { method: UNKNOWN, args: `{"bytes":"0x${bytes}"}`, isDecoded: false };
    }
  }
}

/** Types of the parts of an extrinsic. In metadata 14 they are parameters of its type, which some chains wrap. */
export function extrinsicPartTypes(
  types: Pick<TypeTable, 'entry'>,
  extrinsic: UnifiedMetadata['extrinsic'],
): { readonly address: number; readonly call: number; readonly signature: number } {
  if ('call' in extrinsic) return extrinsic;
  const own = types.entry(extrinsic.type);
  const inner = own.def.tag === 'composite' ? own.def.value.map(({ type }) => types.entry(type)) : [];
  for (const { params } of [own, ...inner]) {
    const part = (name: string) => params.find((param) => param.name === name)?.type;
    const [address, call, signature] = [part('Address'), part('Call'), part('Signature')];
    if (address !== undefined && call !== undefined && signature !== undefined) {
      return { address, call, signature };
    }
  }
  throw new Undecodable('an extrinsic without address, call and signature');
}

/** Signers of these types print as Ethereum addresses, even if the types print as plain bytes inside values. */
function accountReader(types: TypeTable, type: number): ValueReader {
  const name = types.entry(type).path.at(-1) ?? '';
  return ['H160', 'AccountId20'].includes(name) ? types.accounts.account20 : types.reader(type);
}

/** Prints the bytes of a signature without its kind. */
function signatureReader(types: TypeTable, type: number): ValueReader {
  const { id, def } = types.root(type);
  if (def.tag !== 'variant') return types.reader(id);
  const kinds = new Map(def.value.map(({ index, fields }) => [index, types.fields(fields)]));
  return (cursor) => {
    const index = cursor.byte();
    const read = kinds.get(index);
    if (read === undefined) throw new Undecodable(`a signature of kind ${index}`);
    return read(cursor);
  };
}

/** Finds the number in a struct: a tip may have an asset beside it, and some chains wrap nonce and tip. */
function numberOf(text: string, name: 'nonce' | 'tip'): string {
  if (text.startsWith('"')) return text;
  const value: unknown = JSON.parse(text);
  const [first] = Array.isArray(value) ? value : [];
  const number = (value as Record<string, unknown> | null)?.[name] ?? first?.[name] ?? first;
  return typeof number === 'string' ? JSON.stringify(number) : 'null';
}
