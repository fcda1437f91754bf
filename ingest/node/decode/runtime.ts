import { decAnyMetadata, type UnifiedMetadata, unifyMetadata } from '@polkadot-api/substrate-bindings';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { AccountTexts } from './accounts.ts';
import { CallTable } from './calls.ts';
import { bytesOf, Cursor } from './cursor.ts';
import { EventTable } from './events.ts';
import { ExtrinsicReader, extrinsicPartTypes } from './extrinsics.ts';
import { TypeTable } from './types.ts';
import type { ValueReader } from './value-reader.ts';

const MAGIC = 'meta';
const VERSION_MIN = 14;
const VERSION_MAX = 16;
const SS58_PREFIX_DEFAULT = 42;
const SYSTEM_VERSION_HASHES_EXTRINSICS = 2;

/** A version of a runtime: its metadata, and the readers that are compiled from it. */
export interface NodeRuntime {
  readonly metadata: UnifiedMetadata;
  readonly ss58Prefix: number;
  /** From the constant `System.Version`; null if there is none. */
  readonly specVersion: number | null;
  /** Extensions of a transaction by their version; extrinsics of format 4 have version 0. */
  readonly extensions: UnifiedMetadata['extrinsic']['extensionsByVersion'];
  /** Readers by type id. */
  readonly types: TypeTable;
  readonly events: EventTable;
  readonly extrinsics: ExtrinsicReader;
  /** Reads an entry of `Session.Validators`. Some chains print validators in another way than signers. */
  readonly readValidator: ValueReader;
  /** Whether the trie under `extrinsicsRoot` holds hashes of long extrinsics. */
  readonly hashesExtrinsics: boolean;
}

/** Decodes metadata and compiles its readers. */
export function readRuntime(bytes: Uint8Array): NodeRuntime {
  const version = versionOf(bytes);
  if (version < VERSION_MIN || version > VERSION_MAX) {
    throw new ProductError(
      'source_failed',
      `metadata version ${version} is not supported, only ${VERSION_MIN} to ${VERSION_MAX}: load these heights from an archive or a Sidecar`,
    );
  }
  try {
    // Copied, because the library reads beyond a view of a larger buffer. It throws null for truncated bytes.
    return compile(unifyMetadata(decAnyMetadata(new Uint8Array(bytes))));
  } catch (error) {
    throw new ProductError(
      'source_failed',
      `the metadata cannot be read: ${error === null ? 'it is truncated' : reasonOf(error)}`,
    );
  }
}

function versionOf(bytes: Uint8Array): number {
  const version = bytes[MAGIC.length];
  if (version === undefined || Buffer.from(bytes.subarray(0, MAGIC.length)).toString('latin1') !== MAGIC) {
    throw new ProductError(
      'source_failed',
      'the node returned something other than metadata: it does not begin with "meta"',
    );
  }
  return version;
}

function compile(metadata: UnifiedMetadata): NodeRuntime {
  const { lookup, pallets, extrinsic } = metadata;
  const byIndex = new Map(pallets.map((pallet) => [pallet.index, pallet]));
  const constant = (pallet: string, name: string) =>
    pallets.find((entry) => entry.name === pallet)?.constants.find((entry) => entry.name === name);

  const prefix = constant('System', 'SS58Prefix');
  const ss58Prefix = prefix ? littleEndian(prefix.value) : SS58_PREFIX_DEFAULT;
  const types = new TypeTable(lookup, new AccountTexts(ss58Prefix), (cursor) => calls.readInner(cursor));
  types.callType = extrinsicPartTypes(types, extrinsic).call;
  const calls = new CallTable(byIndex, types);

  const extrinsics = new ExtrinsicReader(types, calls, extrinsic);

  const version = constant('System', 'Version');
  const runtimeVersion = version
    ? JSON.parse(types.reader(version.type)(new Cursor(bytesOf(version.value))))
    : {};
  return {
    metadata,
    ss58Prefix,
    specVersion: runtimeVersion.specVersion === undefined ? null : Number(runtimeVersion.specVersion),
    extensions: extrinsic.extensionsByVersion,
    types,
    events: new EventTable(byIndex, types),
    extrinsics,
    readValidator: validatorReader(metadata, types) ?? extrinsics.readAccount,
    hashesExtrinsics: Number(runtimeVersion.systemVersion ?? 0) >= SYSTEM_VERSION_HASHES_EXTRINSICS,
  };
}

function validatorReader({ pallets }: UnifiedMetadata, types: TypeTable): ValueReader | undefined {
  const session = pallets.find(({ name }) => name === 'Session');
  const type = session?.storage?.items.find(({ name }) => name === 'Validators')?.type;
  const list = type?.tag === 'plain' ? types.root(type.value).def : undefined;
  return list?.tag === 'sequence' ? types.reader(list.value) : undefined;
}

const littleEndian = (hex: string) => {
  const bytes = bytesOf(hex);
  return bytes.readUIntLE(0, bytes.length);
};
