import { z } from 'zod';
import { sequenceAt } from '../../infra/coordination/sequence.ts';
import { wrongParameter } from '../http/errors.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

// A cursor of the list of changes: the number up to which its reader knows all of them, or the change at which a page
// ended. Callers may send anything as one.

/** Names of metric, relay chain, chain and slice. */
export type ChangeKey = readonly [string, string, string, string];

export interface ChangeCursor {
  readonly position: bigint;
  /** The last change that is known of those at the position; all of them are when it is absent. */
  readonly key?: ChangeKey;
}

const ORIGIN = 'changes';
const POSITION_MAX = 2n ** 64n - 1n;
/** Longer than any cursor that was made. */
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

/** Everything before a moment is known. */
function momentOf(text: string): ChangeCursor | null {
  if (!moment.safeParse(text).success) return null;
  const at = Date.parse(text);
  const position = sequenceAt(Math.max(at, 0));
  return Number.isNaN(at) || position > POSITION_MAX
    ? null
    : { position: position === 0n ? 0n : position - 1n };
}

/** The cursor of a parameter that takes one. */
export function changeCursorOf(text: string, parameter: string): ChangeCursor {
  const cursor = decodeChangeCursor(text);
  if (cursor === null) throw wrongParameter(parameter, 'not a cursor of /api/changes', text);
  return cursor;
}

/** The cursor of a parameter that takes a moment. */
export function changesAt(text: string, parameter: string): ChangeCursor {
  const cursor = momentOf(text);
  if (cursor === null) throw wrongParameter(parameter, 'not a moment such as 2025-07-14T12:00:00Z', text);
  return cursor;
}

/** The number above which all changes are asked for; those of a page that ended within a number come again. */
export function changedSinceOf(text: string): bigint {
  const cursor = momentOf(text) ?? decodeChangeCursor(text);
  if (cursor === null)
    throw wrongParameter(
      'changed_since',
      'neither a moment such as 2025-07-14T12:00:00Z nor a cursor of /api/changes',
      text,
    );
  return firstOf(cursor);
}

/** The number above which changes follow a cursor. */
export const firstOf = ({ position, key }: ChangeCursor): bigint =>
  key === undefined || position === 0n ? position : position - 1n;
