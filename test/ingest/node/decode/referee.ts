import {
  BTreeSet,
  CodecMap,
  CodecSet,
  Compact,
  Enum,
  GenericCall,
  type GenericChainProperties,
  type GenericEvent,
  Metadata,
  Option,
  Struct,
  TypeRegistry,
} from '@polkadot/types';
import type { Codec } from '@polkadot/types/types';
import { BN, stringCamelCase } from '@polkadot/util';

// @polkadot/types, of which Sidecar is made, printed by Sidecar's rules.

/** It takes an address before few other bytes for a shorter one, and ignores what is left over. */
const padded = (bytes: Uint8Array) => new Uint8Array(Buffer.concat([bytes, Buffer.alloc(64)]));

export class Referee {
  readonly registry = new TypeRegistry();

  constructor(metadata: Uint8Array, ss58Format: number) {
    this.registry.setMetadata(new Metadata(this.registry, new Uint8Array(metadata)));
    const properties = this.registry.createType('ChainProperties', { ss58Format });
    this.registry.setChainProperties(properties as GenericChainProperties);
    this.#registerAsset();
  }

  /** An API on top of the library finds out in which type a chain names the asset of a fee. */
  #registerAsset(): void {
    const { transactionExtensions } = this.registry.metadata.extrinsic;
    const payment = transactionExtensions.find(({ identifier }) => identifier.eq('ChargeAssetTxPayment'));
    if (payment === undefined) return;
    const { def } = this.registry.lookup.getSiType(payment.type);
    const asset = def.isComposite ? def.asComposite.fields[1] : undefined;
    if (asset) this.registry.register({ TAssetConversion: this.registry.createLookupType(asset.type) });
  }

  value(type: number, bytes: Uint8Array): unknown {
    return printed(this.registry.createType(`Lookup${type}`, padded(bytes)));
  }

  call(bytes: Uint8Array): unknown {
    return this.#namedCall(this.registry.createType<GenericCall>('Call', padded(bytes)));
  }

  event(bytes: Uint8Array): unknown {
    const event = this.registry.createType<GenericEvent>('Event', padded(bytes));
    return { method: { pallet: event.section, method: event.method }, data: printed(event.data) };
  }

  /** As `GET /blocks` prints it, without what follows from events. */
  extrinsic(bytes: Uint8Array): Record<string, unknown> {
    const extrinsic = this.registry.createType('Extrinsic', new Uint8Array(bytes));
    const { method, isSigned, era } = extrinsic;
    const signed = <T>(value: () => T) => (isSigned ? value() : null);
    return {
      ...this.#namedCall(method as unknown as GenericCall),
      signature: signed(() => ({
        signature: extrinsic.signature.toJSON(),
        signer: printed(extrinsic.signer),
      })),
      nonce: signed(() => printed(extrinsic.nonce)),
      tip: signed(() => printed(extrinsic.tip)),
      hash: extrinsic.hash.toHex(),
      era: printed(era),
    };
  }

  #namedCall(call: GenericCall): { method: unknown; args: unknown } {
    const args = call.get('args') as Struct;
    return {
      method: { pallet: call.section, method: call.method },
      args: Object.fromEntries(
        args.defKeys.map((name) => [name, this.#argument(name, args.get(name) as Codec)]),
      ),
    };
  }

  #argument(name: string, value: Codec): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#argument('', item));
    if (value instanceof GenericCall) return this.#namedCall(value);
    const isOpaque = ['Bytes', 'WrapperKeepOpaque<Call>', 'WrapperOpaque<Call>'].includes(value.toRawType());
    if (name !== 'call' || !isOpaque) return printed(value);
    try {
      const call = this.registry.createType<GenericCall>('Call', value.toHex());
      // It reads a call from too few or too many bytes, which are none.
      return call.toHex() === value.toHex() ? this.#namedCall(call) : printed(value);
    } catch {
      return printed(value);
    }
  }
}

function printed(value: Codec): unknown {
  if (value instanceof Option) return value.isSome ? printed(value.unwrap()) : null;
  if (value instanceof Compact) return printed(value.unwrap() as Codec);
  if (value instanceof Struct) {
    return Object.fromEntries(value.defKeys.map((key) => [key, printed(value.get(key) as Codec)]));
  }
  if (value instanceof Enum) {
    return value.isBasic ? value.type : { [stringCamelCase(value.type)]: printed(value.value) };
  }
  if (value instanceof CodecSet) return value.strings;
  if (value instanceof BTreeSet) return [...value].map(printed);
  if (value instanceof CodecMap) {
    return Object.fromEntries([...value].map(([key, inner]) => [keyText(printed(key)), printed(inner)]));
  }
  if (Array.isArray(value)) return value.map(printed);
  return value instanceof BN ? value.toString() : value.toJSON();
}

const keyText = (key: unknown) => (typeof key === 'string' ? key : JSON.stringify(key));
