import { Temporal } from 'temporal-polyfill';

/**
 * The first moment at which the clock of a zone shows a wall time or a later one, in milliseconds. A time that the
 * clock skips is the end of the gap, one that it shows twice is the first of both; so order is always kept.
 */
export function firstInstant(wall: Temporal.PlainDateTime, timeZone: string): number {
  const earlier = wall.toZonedDateTime(timeZone, { disambiguation: 'earlier' });
  if (earlier.toPlainDateTime().equals(wall)) return earlier.epochMilliseconds;
  const gapEnd = earlier.getTimeZoneTransition('next');
  if (gapEnd === null) throw new Error(`${timeZone} skips ${wall} without a transition`);
  return gapEnd.epochMilliseconds;
}

/** The wall time that the clock of a zone shows at a moment. */
export const wallTimeAt = (at: number, timeZone: string): Temporal.PlainDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone).toPlainDateTime();

/** The name of an IANA time zone as the database spells it; null for any other text, offsets among them. */
export function timeZoneName(text: string): string | null {
  if (!/^[A-Za-z]/.test(text)) return null;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text).timeZoneId;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
