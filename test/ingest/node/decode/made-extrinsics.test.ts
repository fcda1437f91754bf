import { blake2b } from '@noble/hashes/blake2.js';
import type { GenericExtrinsic } from '@polkadot/types';
import { describe, expect, test } from 'vitest';
import { extrinsicPartTypes } from '../../../../ingest/node/decode/extrinsics.ts';
import { type NodeRuntime, readRuntime } from '../../../../ingest/node/decode/runtime.ts';
import { compact } from '../../../../ingest/node/decode/trie-root.ts';
import { addType, changedMetadata, struct, tupleStruct } from './made-metadata.ts';
import { MAINNETS } from './mainnets.ts';
import { RandomValues } from './random-values.ts';
import { Recording } from './recorded.ts';
import { Referee } from './referee.ts';

const SIGNED_4 = 0x84;
const BARE_5 = 0x05;
const GENERAL_5 = 0x45;
const REMARK = Buffer.from('0000', 'hex');

const withLength = (...parts: Buffer[]) => {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([compact(bytes.length), bytes]);
};

function metadataOf(name: string): Buffer {
  const [, metadata] = MAINNETS.find(([one]) => one === name) ?? [];
  if (metadata === undefined) throw new Error(`no metadata of ${name}`);
  return metadata();
}

/** A signed extrinsic with random address, signature, extensions and argument of `system.remark`. */
function signedExtrinsic(runtime: NodeRuntime, seed: number): Buffer {
  const { metadata, extensions, types } = runtime;
  const values = new RandomValues(runtime, seed);
  const { address, signature } = extrinsicPartTypes(types, metadata.extrinsic);
  const remark = withLength(values.bytes(5));
  return withLength(
    Buffer.of(SIGNED_4),
    values.value(address),
    values.value(signature),
    values.fields(extensions[0] ?? []),
    REMARK,
    remark,
  );
}

/** What Sidecar takes from an extrinsic, as the decoder has it. */
function printedBy(runtime: NodeRuntime, extrinsic: Buffer) {
  const texts = runtime.extrinsics.read(extrinsic);
  const { kind, isDecoded, hash, ...others } = texts;
  expect(isDecoded).toBe(true);
  return {
    kind,
    hash,
    ...Object.fromEntries(Object.entries(others).map(([key, text]) => [key, JSON.parse(text)])),
  };
}

describe('extrinsics', () => {
  test.each(MAINNETS)('signed ones of %s: as the referee prints them', (_name, metadata) => {
    const bytes = metadata();
    const runtime = readRuntime(bytes);
    const referee = new Referee(bytes, runtime.ss58Prefix);
    for (let seed = 1; seed <= 5; seed += 1) {
      const extrinsic = signedExtrinsic(runtime, seed);
      const { kind, ...printed } = printedBy(runtime, extrinsic);
      expect(kind).toBe('signed');
      expect(printed).toEqual(referee.extrinsic(extrinsic));
    }
  });

  test('of format 5 without a sender: as the referee prints them', () => {
    const bytes = metadataOf('v16/substrate');
    const extrinsic = withLength(Buffer.of(BARE_5), REMARK, withLength(Buffer.from('hello')));
    const { kind, ...printed } = printedBy(readRuntime(bytes), extrinsic);
    expect(kind).toBe('bare');
    expect(printed).toEqual(new Referee(bytes, 42).extrinsic(extrinsic));
  });

  test('general ones: as the referee prints them, with the nonce and the tip that Sidecar leaves out', () => {
    const bytes = metadataOf('v16/substrate');
    const runtime = readRuntime(bytes);
    const referee = new Referee(bytes, 42);
    for (let seed = 1; seed <= 5; seed += 1) {
      const extensions = new RandomValues(runtime, seed).fields(runtime.extensions[0] ?? []);
      const call = Buffer.concat([REMARK, withLength(Buffer.from('hello'))]);
      const extrinsic = withLength(Buffer.of(GENERAL_5, 0), extensions, call);
      const { kind, ...printed } = printedBy(runtime, extrinsic);
      expect(kind).toBe('general');
      const { nonce, tip } = referee.registry.createType<GenericExtrinsic>(
        'Extrinsic',
        new Uint8Array(extrinsic),
      );
      // The referee puts a length into the bytes that it hashes which is not there.
      const hash = `0x${Buffer.from(blake2b(extrinsic, { dkLen: 32 })).toString('hex')}`;
      expect(printed).toEqual({
        ...referee.extrinsic(extrinsic),
        hash,
        nonce: String(nonce),
        tip: String(tip),
      });
    }
  });

  test('with extensions that no library knows are read by their types', () => {
    const bytes = changedMetadata(new Recording('coretime-westend').metadata(), (metadata) => {
      const number = addType(metadata, { tag: 'primitive', value: { tag: 'u32', value: undefined } });
      metadata.extrinsic.signedExtensions.splice(2, 0, {
        identifier: 'OfThisChain',
        type: number,
        additionalSigned: number,
      });
    });
    const extrinsic = signedExtrinsic(readRuntime(bytes), 7);
    expect(printedBy(readRuntime(bytes), extrinsic)).toMatchObject({
      kind: 'signed',
      method: { pallet: 'system', method: 'remark' },
    });
  });

  test('of a chain that wraps extrinsics, with the nonce in a struct: as the referee prints them', () => {
    const bytes = changedMetadata(new Recording('coretime-westend').metadata(), (metadata) => {
      const { extrinsic, lookup } = metadata;
      extrinsic.type = addType(metadata, tupleStruct(extrinsic.type), { path: ['chain', 'ItsExtrinsic'] });
      const extension = extrinsic.signedExtensions.find(({ identifier }) => identifier === 'CheckNonce');
      const { def } = lookup[extension?.type ?? -1] ?? {};
      const [nonce] = def?.tag === 'composite' ? def.value : [];
      if (extension && nonce) extension.type = addType(metadata, struct({ nonce: nonce.type }));
    });
    const extrinsic = signedExtrinsic(readRuntime(bytes), 3);
    const { kind, ...printed } = printedBy(readRuntime(bytes), extrinsic);
    expect(kind).toBe('signed');
    expect(printed).toEqual(new Referee(bytes, 42).extrinsic(extrinsic));
  });

  test.each([
    { path: ['account', 'AccountId20'] },
    { path: ['chain_primitives', 'signature', 'AccountId20'] },
    { path: ['primitive_types', 'H160'] },
  ])('of a chain with accounts of 20 bytes, $path: as the referee prints them', ({ path }) => {
    const bytes = changedMetadata(new Recording('coretime-westend').metadata(), (metadata) => {
      const { lookup, extrinsic } = metadata;
      const byte = addType(metadata, { tag: 'primitive', value: { tag: 'u8', value: undefined } });
      const array = (len: number) => addType(metadata, { tag: 'array', value: { len, type: byte } });
      const account = addType(metadata, tupleStruct(array(20)), { path });
      const signature = addType(metadata, tupleStruct(array(65)), {
        path: ['account', 'EthereumSignature'],
      });
      const [address, , signed] = lookup[extrinsic.type]?.params ?? [];
      if (address && signed) [address.type, signed.type] = [account, signature];
    });
    const extrinsic = signedExtrinsic(readRuntime(bytes), 3);
    const { kind, ...printed } = printedBy(readRuntime(bytes), extrinsic);
    expect(kind).toBe('signed');
    expect(printed).toEqual(new Referee(bytes, 42).extrinsic(extrinsic));
  });
});
