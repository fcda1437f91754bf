import type { z } from 'zod';
import type { SnapshotKind } from '../../decode/snapshot.ts';

/** Kinds of values that come from a feed, because no chain stores them. */
export type ValueKind = Extract<SnapshotKind, 'price' | 'tvl'>;

/** A value in US dollars and its time in milliseconds, unchecked. Numbers that a double would round are strings. */
export interface ValuePoint {
  readonly time: unknown;
  readonly usd: unknown;
}

/** Milliseconds; `until` is exclusive. */
export interface FeedRange {
  readonly from: number;
  readonly until: number;
}

/** Requests one kind of value. */
export interface ValueRoute {
  /** The public address of the feed. */
  readonly url: string;
  /** Most days of one answer; null if every answer has the whole history. */
  readonly daysMax: number | null;
  readonly path: (id: string, range: FeedRange) => string;
  readonly answer: (id: string) => z.ZodType<readonly ValuePoint[]>;
}

/** A feed of daily values. To add a feed, add a file beside this one and a line in `adapters.ts`. */
export interface ValueAdapter {
  readonly name: string;
  /** Limit of the public address without a key. */
  readonly requestsPerMinute: number;
  readonly routes: Readonly<Partial<Record<ValueKind, ValueRoute>>>;
  /** Name of the header for a key; absent if the feed takes no key. */
  readonly keyHeader?: (url: string) => string;
}

/** Converts seconds to milliseconds. Returns other values unchanged. */
export const millisecondsOf = (time: unknown): unknown => (typeof time === 'number' ? time * 1000 : time);
