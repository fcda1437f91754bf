import { pause } from '../../../../infra/coordination/pause.ts';
import { ignore } from '../../../../infra/ignore.ts';
import { HttpError, RETRY_SOON } from '../../../http/errors.ts';
import type { ListRow } from '../list-page.ts';

/** A page that follows a chain. */
interface ExtrinsicListener {
  /** Key of the caller, for the limit of listeners. */
  readonly caller: string;
  readonly chain: string;
  /** The newest extrinsic that the page has; null if it has none. */
  readonly after: Place | null;
  /** Called with new ones, oldest first. */
  send(rows: readonly ListRow[]): void;
}

/** Position of an extrinsic: block number and index in the block. */
export type Place = readonly [block: number, index: number];

export const placeOf = ({ block_number, extrinsic_index }: ListRow): Place => [
  Number(block_number),
  Number(extrinsic_index),
];

const isAfter = (row: ListRow, place: Place | null): boolean => {
  if (place === null) return true;
  const [block, index] = placeOf(row);
  return block > place[0] || (block === place[0] && index > place[1]);
};

interface ExtrinsicFeed {
  readonly listeners: Map<ExtrinsicListener, Place | null>;
  readonly end: AbortController;
}

const POLL_MS = 2000;

/** Sends new extrinsics to listeners. A chain with listeners is polled once for all of them; other chains are not polled. */
export class ExtrinsicFeeds {
  readonly #read: (chain: string, signal: AbortSignal) => Promise<readonly ListRow[]>;
  readonly #listenersMax: number;
  readonly #pollMs: number;
  readonly #feeds = new Map<string, ExtrinsicFeed>();
  readonly #byCaller = new Map<string, number>();
  #count = 0;

  /** `read` returns the newest extrinsics of a chain, newest first. */
  constructor(options: {
    readonly read: (chain: string, signal: AbortSignal) => Promise<readonly ListRow[]>;
    readonly listenersMax: number;
    readonly pollMs?: number;
  }) {
    this.#read = options.read;
    this.#listenersMax = options.listenersMax;
    this.#pollMs = options.pollMs ?? POLL_MS;
  }

  get listeners(): number {
    return this.#count;
  }

  /** Adds a listener and returns a function that removes it. Throws if there are too many. */
  listen(listener: ExtrinsicListener): () => void {
    const ofCaller = this.#byCaller.get(listener.caller) ?? 0;
    if (this.#count >= this.#listenersMax || ofCaller >= Math.ceil(this.#listenersMax / 4)) {
      throw new HttpError('unavailable', 'Too many live pages are open. Try again later.', RETRY_SOON);
    }
    this.#count++;
    this.#byCaller.set(listener.caller, ofCaller + 1);
    const feed = this.#feeds.get(listener.chain) ?? this.#begin(listener.chain);
    feed.listeners.set(listener, listener.after);
    return () => this.#remove(feed, listener);
  }

  #remove(feed: ExtrinsicFeed, listener: ExtrinsicListener): void {
    if (!feed.listeners.delete(listener)) return;
    this.#count--;
    const remaining = (this.#byCaller.get(listener.caller) ?? 1) - 1;
    if (remaining > 0) this.#byCaller.set(listener.caller, remaining);
    else this.#byCaller.delete(listener.caller);
    if (feed.listeners.size > 0) return;
    this.#feeds.delete(listener.chain);
    feed.end.abort(new HttpError('unavailable', 'Nobody follows the chain any more.'));
  }

  #begin(chain: string): ExtrinsicFeed {
    const feed: ExtrinsicFeed = { listeners: new Map(), end: new AbortController() };
    this.#feeds.set(chain, feed);
    void this.#follow(chain, feed);
    return feed;
  }

  async #follow(chain: string, { listeners, end: { signal } }: ExtrinsicFeed): Promise<void> {
    while (!signal.aborted) {
      // After a failure, the next poll reads the same extrinsics.
      const rows = await this.#read(chain, signal).catch(ignore('explorer.feed', []));
      if (signal.aborted) return;
      const [newest] = rows;
      for (const [listener, after] of listeners) {
        const fresh = rows.filter((row) => isAfter(row, after)).reverse();
        if (newest) listeners.set(listener, isAfter(newest, after) ? placeOf(newest) : after);
        if (fresh.length > 0) listener.send(fresh);
      }
      await pause(this.#pollMs, signal);
    }
  }
}
