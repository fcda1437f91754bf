/** Blocks as Sidecar lays them out, with only what a test is about. */

export const hash = (number: number | string) => `0x${String(number).padStart(64, '0')}`;
export const NOON = Date.UTC(2026, 0, 2, 12);

export interface MadeExtrinsic {
  readonly method?: unknown;
  readonly signature?: unknown;
  readonly [field: string]: unknown;
}

const EXTRINSIC = {
  signature: null,
  tip: null,
  hash: hash('e'),
  info: {},
  events: [],
  success: true,
  paysFee: false,
};

/** The event that every applied extrinsic ends with stands behind those that are given, unless one of them is it. */
export function madeExtrinsic(call: string, more: MadeExtrinsic = {}): object {
  const [pallet, method] = call.split('.');
  return withOutcome({ method: { pallet, method }, args: {}, ...EXTRINSIC, ...more });
}

/** The same for an extrinsic that is laid out by hand. */
export function withOutcome<Extrinsic extends MadeExtrinsic>(extrinsic: Extrinsic): Extrinsic {
  const { events = [], success } = extrinsic;
  if (!Array.isArray(events) || JSON.stringify(events).match(/Extrinsic(Success|Failed)/)) return extrinsic;
  const outcome = success === false ? 'system.ExtrinsicFailed' : 'system.ExtrinsicSuccess';
  const data = success === false ? [{ badOrigin: null }, DISPATCHED] : [DISPATCHED];
  return { ...extrinsic, events: [...events, madeEvent(outcome, ...data)] };
}

const DISPATCHED = { weight: { refTime: '1', proofSize: '0' }, class: 'Normal', paysFee: 'Yes' };

export function madeEvent(name: string, ...data: readonly unknown[]): object {
  const [pallet, method] = name.split('.');
  return { method: { pallet, method }, data };
}

export function madeBlock(number: number, extrinsics: readonly object[] = [], more: object = {}): object {
  return {
    number: String(number),
    hash: hash(number),
    parentHash: hash(Math.max(0, number - 1)),
    authorId: ALICE,
    onInitialize: { events: [] },
    extrinsics: [
      madeExtrinsic('timestamp.set', { args: { now: String(NOON + number * 6000) } }),
      ...extrinsics,
    ],
    onFinalize: { events: [] },
    finalized: true,
    ...more,
  };
}

export const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
export const ALICE_KEY = 'd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d';
export const BOB_GENERIC = '5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty';
