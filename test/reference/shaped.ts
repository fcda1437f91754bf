/** Sidecar-shaped blocks with only what a test is about. */

import { type Input, readLines } from './input.ts';
import { findChain } from './registry.ts';

export type ShapedEvent = readonly [name: string, ...data: readonly unknown[]];

export type ShapedExtrinsic = {
  readonly call: string;
  readonly args?: object;
  readonly signer?: unknown;
  /** Its outcome event follows them, unless they have one. */
  readonly events?: readonly ShapedEvent[];
  /** `false` for an extrinsic whose outcome event was lost. */
  readonly outcome?: false;
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
export function shapeBlock(
  { number, time, extrinsics = [], opening = [], ...fields }: ShapedBlock,
  chain = '',
): object {
  const hashAt = (height: number) => (height === 0 ? findChain(chain)?.genesis : null) ?? shapeHash(height);
  const clock = time ? [{ call: 'timestamp.set', args: { now: String(Date.parse(time)) } }] : [];
  // Only the genesis is without extrinsics.
  const isBare = clock.length + extrinsics.length === 0 && number > 0;
  const inherents = isBare ? [{ call: 'parachainSystem.setValidationData' }] : clock;
  return {
    number: String(number),
    hash: hashAt(number),
    parentHash: hashAt(number - 1),
    onInitialize: { events: opening.map(shapeEvent) },
    extrinsics: [...inherents, ...extrinsics].map(shapeExtrinsic),
    onFinalize: { events: [] },
    finalized: true,
    ...fields,
  };
}

/** The hash that a block of this height has unless a test gives it another, or its chain is known to begin with another. */
export function shapeHash(number: number): string {
  return `0x${Math.max(number, 0).toString(16).padStart(64, '0')}`;
}

/** A nested call, as the arguments of wrappers carry it. */
export function shapeCall(name: string, args: object = {}): object {
  return { method: shapeName(name), args };
}

const OUTCOMES = ['system.ExtrinsicSuccess', 'system.ExtrinsicFailed'];

function shapeExtrinsic({
  call,
  args = {},
  signer,
  events = [],
  outcome,
  ...fields
}: ShapedExtrinsic): object {
  const isTold = outcome === false || events.some(([name]) => OUTCOMES.includes(name));
  const ending: ShapedEvent =
    fields.success === false
      ? ['system.ExtrinsicFailed', { other: null }, {}]
      : ['system.ExtrinsicSuccess', {}];
  return {
    ...shapeCall(call, args),
    signature: signer === undefined ? null : { signature: '0x', signer },
    tip: signer === undefined ? null : '0',
    hash: '0x',
    info: {},
    events: (isTold ? events : [...events, ending]).map(shapeEvent),
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
  return readDocuments(
    blocks.map((block) => shapeBlock(block, chain)),
    chain,
  );
}
