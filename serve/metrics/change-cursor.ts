import { z } from 'zod';
import { sequenceAt } from '../../infra/coordination/sequence.ts';
import { invalidParameter } from '../http/errors.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

// A cursor of /api/changes contains a position. The reader has all changes up to it; if the cursor also contains a key,
// the reader has the changes at this position only up to the key. Cursors are untrusted input.

/** Metric, relay chain, chain and slice. */
export type ChangeKey = readonly [string, string, string, string];

export interface ChangeCursor {
  readonly position: bigint;
  /** The last change at `position` that the reader has; absent if it has all of them. */
  readonly key?: ChangeKey;
}

const ORIGIN = 'changes';
const POSITION_MAX = 2n ** 64n - 1n;
/** Longer than any part of a valid cursor. */
const KEY_CHARS_MAX = 1024;

export const encodeChangeCursor = ({ position, key = [] as never }: ChangeCursor): string =>
  encodeCursor([ORIGIN, position.toString(), ...key]);

function decodeChangeCursor(text: string): ChangeCursor | null {
  const [origin, position, ...key] = decodeCursor(text);
  if (origin !== ORIGIN || typeof position !== 'string' || !/^\d{1,20}$/.test(position)) return null;
  const number = BigInt(position);
  if (number > POSITION_MAX) return null;
  if (key.length === 0) return { position: number };
  const isKey = key.every(
    (one) => typeof one === 'string' && one.length <= KEY_CHARS_MAX && one.isWellFormed(),
  );
  return isKey && key.length === 4 ? { position: number, key: key as unknown as ChangeKey } : null;
}

const moment = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

/** The cursor of a reader that has every change before this time. */
function momentOf(text: string): ChangeCursor | null {
  if (!moment.safeParse(text).success) return null;
  const at = Date.parse(text);
  const position = sequenceAt(Math.max(at, 0));
  return Number.isNaN(at) || position > POSITION_MAX
    ? null
    : { position: position === 0n ? 0n : position - 1n };
}

/** Parses a cursor; throws 422 if it is invalid. */
export function parseChangeCursor(text: string, parameter: string): ChangeCursor {
  const cursor = decodeChangeCursor(text);
  if (cursor === null) throw invalidParameter(parameter, 'must be a `cursor` from /api/changes', text);
  return cursor;
}

/** Parses a time; throws 422 if it is invalid. */
export function parseChangeTime(text: string, parameter: string): ChangeCursor {
  const cursor = momentOf(text);
  if (cursor === null) throw invalidParameter(parameter, 'must be a time such as 2025-07-14T12:00:00Z', text);
  return cursor;
}

/** The position after which changes are requested. If the page ended within a position, its changes are repeated. */
export function parseChangedSince(text: string): bigint {
  const cursor = momentOf(text) ?? decodeChangeCursor(text);
  if (cursor === null)
    throw invalidParameter(
      'changed_since',
      'must be a time such as 2025-07-14T12:00:00Z or a `cursor` from /api/changes',
      text,
    );
  return lowerBound(cursor);
}

/** Changes after the cursor have positions above this one. */
export const lowerBound = ({ position, key }: ChangeCursor): bigint =>
  key === undefined || position === 0n ? position : position - 1n;
