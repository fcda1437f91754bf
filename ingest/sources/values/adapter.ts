import type { z } from 'zod';
import type { SnapshotKind } from '../../decode/snapshot.ts';

/** Kinds of values that no chain knows, so that a feed has to be asked. */
export type ValueKind = Extract<SnapshotKind, 'price' | 'tvl'>;

/** A value in dollars at a time in milliseconds, both as the feed wrote them: text where a double would round. */
export interface ValuePoint {
  readonly time: unknown;
  readonly usd: unknown;
}

/** Milliseconds, the second of them exclusive. */
export interface AskedRange {
  readonly from: number;
  readonly until: number;
}

/** How one kind of value is asked for. */
export interface ValueRoute {
  /** The public address of the feed. */
  readonly url: string;
  /** Days of one answer; null when an answer always has all of them. */
  readonly daysMax: number | null;
  readonly path: (id: string, range: AskedRange) => string;
  readonly answer: (id: string) => z.ZodType<readonly ValuePoint[]>;
}

/** A feed of daily values. A new one is a file beside this one and a line in `adapters.ts`. */
export interface ValueAdapter {
  readonly name: string;
  /** What the public address allows without a key. */
  readonly requestsPerMinute: number;
  readonly routes: Readonly<Partial<Record<ValueKind, ValueRoute>>>;
  /** The header that takes a key; absent when the feed knows none. */
  readonly keyHeader?: (url: string) => string;
}

/** Times that a feed writes in seconds, in milliseconds; anything else as it is. */
export const secondsOf = (time: unknown): unknown => (typeof time === 'number' ? time * 1000 : time);
