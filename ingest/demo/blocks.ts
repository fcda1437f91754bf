import { hexOf } from './cast.ts';
import type { Random } from './random.ts';

/** An event, its pallet and name in one word, and its data. */
export type DemoEvent = readonly [name: string, ...data: readonly unknown[]];

/** An extrinsic as it will stand in a block. */
export interface DemoExtrinsic {
  readonly call: string;
  readonly args?: object;
  /** Absent for inherents and Ethereum transactions. */
  readonly signer?: unknown;
  readonly tip?: string;
  readonly success?: boolean;
  readonly events: readonly DemoEvent[];
}

interface DemoBlock {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly author: string | undefined;
  readonly opening: readonly DemoEvent[];
  readonly extrinsics: readonly DemoExtrinsic[];
}

/** A call within a call, as the arguments of wrappers carry it. */
export const nestedCall = (name: string, args: object): object => ({ method: methodOf(name), args });

/** The dispatch information at the end of each extrinsic. */
const WEIGHT = { weight: { refTime: '312500000', proofSize: '3593' }, class: 'Normal', paysFee: 'Yes' };
const SUCCESS: DemoEvent = ['system.ExtrinsicSuccess', WEIGHT];
const FAILED: DemoEvent = ['system.ExtrinsicFailed', { token: 'FundsUnavailable' }, WEIGHT];

/** A block in the layout of Sidecar. */
export function blockPayload(random: Random, block: DemoBlock): object {
  const { number, hash, parentHash, time, author, opening, extrinsics } = block;
  const clock: DemoExtrinsic = { call: 'timestamp.set', args: { now: String(time) }, events: [] };
  return {
    number: String(number),
    hash,
    parentHash,
    ...(author === undefined ? {} : { authorId: author }),
    onInitialize: { events: opening.map(eventOf) },
    extrinsics: [clock, ...extrinsics].map((extrinsic) => extrinsicOf(random, extrinsic)),
    onFinalize: { events: [] },
    finalized: true,
  };
}

function extrinsicOf(
  random: Random,
  { call, args = {}, signer, tip, success = true, events }: DemoExtrinsic,
) {
  const isSigned = signer !== undefined;
  return {
    method: methodOf(call),
    signature: isSigned ? { signature: '0x', signer } : null,
    args,
    tip: isSigned ? (tip ?? '0') : null,
    hash: hexOf(random, 32),
    info: {},
    events: [...events, success ? SUCCESS : FAILED].map(eventOf),
    success,
    paysFee: isSigned,
  };
}

const eventOf = ([name, ...data]: DemoEvent) => ({ method: methodOf(name), data });

function methodOf(name: string): { pallet: string; method: string } {
  const dot = name.indexOf('.');
  return { pallet: name.slice(0, dot), method: name.slice(dot + 1) };
}
