import type { Chain } from '../chains/chain.ts';
import type { DemoKey } from './cast.ts';

/** An event: its name as `pallet.Event`, and its data. */
export type DemoEvent = readonly [name: string, ...data: readonly unknown[]];

/** An extrinsic of a block. */
export interface DemoExtrinsic {
  readonly call: string;
  readonly args: object;
  readonly hash: string;
  /** Absent for inherents and Ethereum transactions. */
  readonly signer?: DemoKey;
  readonly tip?: string;
  readonly success: boolean;
  readonly events: readonly DemoEvent[];
}

export interface DemoBlock {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly author: string | undefined;
  readonly opening: readonly DemoEvent[];
  readonly extrinsics: readonly DemoExtrinsic[];
}

/** A nested call, as in the arguments of `batch` or `proxy`. */
export const nestedCall = (name: string, args: object): object => ({ method: methodOf(name), args });

/** The dispatch information at the end of each extrinsic. */
const WEIGHT = { weight: { refTime: '312500000', proofSize: '3593' }, class: 'Normal', paysFee: 'Yes' };
const SUCCESS: DemoEvent = ['system.ExtrinsicSuccess', WEIGHT];
const FAILED: DemoEvent = ['system.ExtrinsicFailed', { token: 'FundsUnavailable' }, WEIGHT];

type PrintAccount = (key: DemoKey, chain: Chain) => string;

/** Formats a block as Sidecar does. */
export function blockPayload(block: DemoBlock, chain: Chain, print: PrintAccount): object {
  const { number, hash, parentHash, time, author, opening, extrinsics } = block;
  const clock = { method: methodOf('timestamp.set'), args: { now: String(time) } };
  return {
    number: String(number),
    hash,
    parentHash,
    ...(author === undefined ? {} : { authorId: author }),
    onInitialize: { events: opening.map(eventOf) },
    extrinsics: [
      { ...clock, ...UNSIGNED, hash: '0x', events: [eventOf(SUCCESS)], success: true },
      ...extrinsics.map((extrinsic) => extrinsicOf(extrinsic, chain, print)),
    ],
    onFinalize: { events: [] },
    finalized: true,
  };
}

const UNSIGNED = { signature: null, tip: null, info: {}, paysFee: false };

function extrinsicOf(
  { call, args, signer, tip = '0', success, events, hash }: DemoExtrinsic,
  chain: Chain,
  print: PrintAccount,
) {
  const printed = signer === undefined ? '' : print(signer, chain);
  const signature = { signature: '0x', signer: chain.accounts === 'h160' ? printed : { id: printed } };
  return {
    method: methodOf(call),
    args,
    hash,
    ...(signer === undefined ? UNSIGNED : { signature, tip, info: {}, paysFee: true }),
    events: [...events, success ? SUCCESS : FAILED].map(eventOf),
    success,
  };
}

const eventOf = ([name, ...data]: DemoEvent) => ({ method: methodOf(name), data });

function methodOf(name: string): { pallet: string; method: string } {
  const dot = name.indexOf('.');
  return { pallet: name.slice(0, dot), method: name.slice(dot + 1) };
}
