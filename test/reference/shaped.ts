/** Sidecar-shaped blocks with only what a test is about. */

import { type Input, readLines } from './input.ts';

export type ShapedEvent = readonly [name: string, ...data: readonly unknown[]];

export type ShapedExtrinsic = {
  readonly call: string;
  readonly args?: object;
  readonly signer?: unknown;
  readonly events?: readonly ShapedEvent[];
  readonly [field: string]: unknown;
};

export type ShapedBlock = {
  readonly number: number;
  readonly time?: string;
  readonly extrinsics?: readonly ShapedExtrinsic[];
  readonly opening?: readonly ShapedEvent[];
  readonly [field: string]: unknown;
};

/** A block at a height, a child of the one below; its first extrinsic sets the time. */
export function shapeBlock({ number, time, extrinsics = [], opening = [], ...fields }: ShapedBlock): object {
  const clock = time ? [{ call: 'timestamp.set', args: { now: String(Date.parse(time)) } }] : [];
  return {
    number: String(number),
    hash: shapeHash(number),
    parentHash: shapeHash(number - 1),
    onInitialize: { events: opening.map(shapeEvent) },
    extrinsics: [...clock, ...extrinsics].map(shapeExtrinsic),
    onFinalize: { events: [] },
    finalized: true,
    ...fields,
  };
}

/** The hash that a block of this height has unless a test gives it another. */
export function shapeHash(number: number): string {
  return `0x${Math.max(number, 0).toString(16).padStart(64, '0')}`;
}

/** A nested call, as the arguments of wrappers carry it. */
export function shapeCall(name: string, args: object = {}): object {
  return { method: shapeName(name), args };
}

function shapeExtrinsic({ call, args = {}, signer, events = [], ...fields }: ShapedExtrinsic): object {
  return {
    ...shapeCall(call, args),
    signature: signer === undefined ? null : { signature: '0x', signer },
    tip: signer === undefined ? null : '0',
    hash: '0x',
    info: {},
    events: events.map(shapeEvent),
    success: true,
    paysFee: signer !== undefined,
    ...fields,
  };
}

function shapeEvent([name, ...data]: ShapedEvent): object {
  return { method: shapeName(name), data };
}

function shapeName(name: string): object {
  const [pallet, method] = name.split('.');
  return { pallet, method };
}

export function readDocuments(documents: readonly object[], chain = 'polkadot'): Input {
  return readLines(documents.map((document) => ({ line: JSON.stringify(document), chain })));
}

export function readBlocks(blocks: readonly ShapedBlock[], chain = 'polkadot'): Input {
  return readDocuments(blocks.map(shapeBlock), chain);
}
