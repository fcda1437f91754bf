import { Readable } from 'node:stream';
import { z } from 'zod';
import { ignore } from '../../infra/ignore.ts';
import { hex } from './answers.ts';
import { type MapPage, PAGE_KEYS } from './map-pages.ts';
import type { CallOptions, NodeRpc } from './rpc.ts';
import type { OnEvent, RpcReply } from './transport.ts';

const storageEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('storage'), key: hex, value: hex.optional() }),
  z.object({ event: z.literal('storageDone') }),
  z.object({ event: z.literal('storageError'), error: z.string() }),
]);

type Entry = Extract<z.output<typeof storageEvent>, { event: 'storage' }>;
type FinalReply = Pick<RpcReply, 'result' | 'error'>;

const INTERNAL_ERROR = -32603;
const WRONG_ANSWER = 0;
const wrong = (message: string): FinalReply => ({ error: { code: WRONG_ANSWER, message } });

/** Calls `take` for each entry until the node sends the last one. */
function entriesBy(take: (entry: Entry, subscription: unknown) => FinalReply | undefined): OnEvent {
  return (message, subscription) => {
    const { data: event } = storageEvent.safeParse(message);
    if (event === undefined) return wrong('sent an unknown event of archive_v1_storage');
    if (event.event === 'storage') return take(event, subscription);
    if (event.event === 'storageDone') return { result: null };
    return { error: { code: INTERNAL_ERROR, message: event.error } };
  };
}

/** The value of a key after a block; null if there is none. */
export async function archivedValue(
  rpc: NodeRpc,
  { key, hash }: { readonly key: string; readonly hash: string },
  options: CallOptions,
): Promise<string | null> {
  let value: string | null = null;
  const onEvent = entriesBy((entry) => {
    if (entry.key === key) value = entry.value ?? null;
    return undefined;
  });
  const params = [hash, [{ key, type: 'value' }], null];
  await rpc.subscribe({ method: 'archive_v1_storage', params, onEvent }, options);
  return value;
}

/**
 * All entries of a map after a block, as the node sends them. The number of waiting pages is not limited, because a reader
 * decodes a page faster than the next one arrives. A retry begins at the first key and skips keys that arrived before.
 */
export function archivedPages(
  rpc: NodeRpc,
  { prefix, hash, of }: { readonly prefix: string; readonly hash: string; readonly of: 'keys' | 'values' },
): AsyncIterable<MapPage> {
  const pages = new Readable({ objectMode: true, read: () => undefined });
  let page: [string, string | null][] = [];
  let [lastKey, previousKey, attempt]: [string, string, unknown] = ['', '', undefined];
  const onEvent = entriesBy(({ key, value = null }, subscription) => {
    if (pages.destroyed) {
      void rpc.call('archive_v1_stopStorage', [subscription]).catch(ignore('ingest.node'));
      return { result: null };
    }
    if (subscription !== attempt) [attempt, previousKey] = [subscription, ''];
    if (key <= previousKey) return wrong(`sent the key ${key} after ${previousKey}, which is not in order`);
    previousKey = key;
    if (key <= lastKey) return undefined;
    lastKey = key;
    page.push([key, value]);
    if (page.length < PAGE_KEYS) return undefined;
    pages.push(page);
    page = [];
    return undefined;
  });
  const type = of === 'keys' ? 'descendantsHashes' : 'descendantsValues';
  rpc
    .subscribe({ method: 'archive_v1_storage', params: [hash, [{ key: prefix, type }], null], onEvent })
    .then(
      () => {
        if (page.length > 0) pages.push(page);
        pages.push(null);
      },
      (error) => pages.destroy(error),
    );
  return pages;
}
