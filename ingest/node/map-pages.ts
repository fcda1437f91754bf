import { z } from 'zod';
import { markHandled } from '../../infra/ignore.ts';
import type { NodeRpc } from './rpc.ts';
import { NodeRefusal } from './rpc-errors.ts';
import { RequestFailure } from './transport.ts';

/** JSON-RPC of a node whose state is read. */
export interface StateRpc extends Pick<NodeRpc, 'call'> {
  /** All entries of a map after a block, if the node can stream them. */
  mapPages?(prefix: string, hash: string, of: 'keys' | 'values'): AsyncIterable<MapPage>;
}

/** Some entries of a map; values are null if only keys were requested. */
export type MapPage = readonly (readonly [key: string, value: string | null])[];

/** Nodes refuse to return more keys in one answer. */
export const PAGE_KEYS = 1000;

const keysAnswer = z.array(z.string());
const valuesAnswer = z.tuple([z.object({ changes: z.array(z.tuple([z.string(), z.string().nullable()])) })]);

/** The state after the block with a hash. */
interface StateAt {
  readonly rpc: StateRpc;
  readonly hash: string;
}

/** All entries of a map after a block, a page at a time. The next keys are requested along with the values. */
export async function* mapPages(
  { rpc, hash }: StateAt,
  prefix: string,
  of: 'keys' | 'values',
): AsyncGenerator<MapPage> {
  if (rpc.mapPages) return yield* rpc.mapPages(prefix, hash, of);
  let next: Promise<string[]> | null = keysAfter({ rpc, hash }, prefix, null);
  while (next) {
    const keys: string[] = await next;
    const last = keys.at(-1);
    // A page that is not full is the last one.
    next = last && keys.length === PAGE_KEYS ? markHandled(keysAfter({ rpc, hash }, prefix, last)) : null;
    if (keys.length === 0) return;
    const values = of === 'values' ? await valuesOf({ rpc, hash }, keys) : null;
    yield keys.map((key) => [key, values?.get(key) ?? null] as const);
  }
}

async function keysAfter({ rpc, hash }: StateAt, prefix: string, last: string | null): Promise<string[]> {
  return keysAnswer.parse(await rpc.call('state_getKeysPaged', [prefix, PAGE_KEYS, last, hash]));
}

/** The values of some keys. Halves the request if its answer is too large for the node. */
async function valuesOf(
  { rpc, hash }: StateAt,
  keys: readonly string[],
): Promise<Map<string, string | null>> {
  try {
    const [{ changes }] = valuesAnswer.parse(await rpc.call('state_queryStorageAt', [keys, hash]));
    return new Map(changes);
  } catch (error) {
    if (keys.length === 1 || !mayBeTooLarge(error)) throw error;
    const half = Math.ceil(keys.length / 2);
    return new Map([
      ...(await valuesOf({ rpc, hash }, keys.slice(0, half))),
      ...(await valuesOf({ rpc, hash }, keys.slice(half))),
    ]);
  }
}

/**
 * Nodes and proxies report a too large answer in many ways, so any refusal may be one. After ten halvings a request has a
 * single key, and an unrelated error is thrown.
 */
const mayBeTooLarge = (error: unknown): boolean =>
  (error instanceof NodeRefusal && !isPruned(error)) ||
  (error instanceof RequestFailure && error.kind === 'large');

/** Whether a node no longer has the state of a block. */
export const isPruned = (error: unknown): boolean =>
  error instanceof NodeRefusal &&
  (error.isPruned || /unknown ?block|header was not found/i.test(error.message));
