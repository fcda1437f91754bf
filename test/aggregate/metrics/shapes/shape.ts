import type { InputLine } from '../../../reference/input.ts';
import {
  type ShapedBlock,
  type ShapedEvent,
  type ShapedExtrinsic,
  shapeBlock,
} from '../../../reference/shaped.ts';

/** The same accounts in the encodings of several networks, with equal keys. */
export const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
export const ALICE_GENERIC = '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY';
export const ALICE_KEY = '0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d';
export const BOB = '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3';
export const BOB_GENERIC = '5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty';
export const CHARLIE_GENERIC = '5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y';
export const EVE_H160 = '0xf24FF3a9CF04c71Dbc94D0b566f7A27B94566cac';
export const MALLORY_H160 = '0x3Cd0A705a2DC65e5b1E1205896BaA2be8A07c6e0';

/** Bare blocks of one chain, as the lines of its file. */
export function blocksOf(chain: string, blocks: readonly ShapedBlock[]): InputLine[] {
  return blocks.map((block) => ({ line: JSON.stringify(shapeBlock(block, chain)), chain }));
}

/** A block in an envelope that names its chain. */
export function envelopeOf(chain: string, block: ShapedBlock, fields: object = {}): InputLine {
  return { line: JSON.stringify({ schema: 'block/1', chain, ...fields, payload: shapeBlock(block, chain) }) };
}

export function priceOf(symbol: string, as_of: string, usd: number | string, chain = 'polkadot'): InputLine {
  const relay_chain = chain === 'kusama' ? 'kusama' : 'polkadot';
  const head = JSON.stringify({
    schema: 'snapshot/1',
    kind: 'price',
    relay_chain,
    chain,
    block_number: 1,
    as_of,
  });
  // The price is written as text: a double would lose digits.
  return { line: `${head.slice(0, -1)},"payload":{"symbol":${JSON.stringify(symbol)},"usd":${usd}}}` };
}

/** A signed remark, the simplest transaction. */
export function remark(signer: unknown, fields: Partial<ShapedExtrinsic> = {}): ShapedExtrinsic {
  return { call: 'system.remark', args: { remark: '0x' }, signer, ...fields };
}

export function feePaid(signer: string, fee: unknown, tip: unknown = '0'): ShapedEvent {
  return ['transactionPayment.TransactionFeePaid', signer, fee, tip];
}
