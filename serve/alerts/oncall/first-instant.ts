import { Temporal } from 'temporal-polyfill';
import { HOUR_MS } from '../../../infra/days.ts';

/**
 * The first moment at which the clock of a zone shows a wall time or a later one, in milliseconds. A skipped time is
 * the end of its gap, and a repeated time its first occurrence. So the order of wall times is kept.
 */
export function firstInstant(wall: Temporal.PlainDateTime, timeZone: string): number {
  const earlier = wall.toZonedDateTime(timeZone, { disambiguation: 'earlier' });
  if (earlier.toPlainDateTime().equals(wall)) return earlier.epochMilliseconds;
  const gapEnd = earlier.getTimeZoneTransition('next');
  if (gapEnd === null) throw new Error(`${timeZone} skips ${wall} without a transition`);
  return gapEnd.epochMilliseconds;
}

/** No zone has set its clock back by more. */
const SET_BACK_MS_MAX = 25 * HOUR_MS;

/**
 * `firstInstant` for many wall times of one zone, in milliseconds as if they were UTC. Temporal takes about 10 µs a
 * call, so a year of hourly turns would block the process for seconds. Between two transitions this adds the offset.
 */
export class ZoneClock {
  readonly #timeZone: string;
  /** The period of the current offset. */
  #from = Infinity;
  #until = -Infinity;
  #offset = 0;

  constructor(timeZone: string) {
    this.#timeZone = timeZone;
  }

  firstInstant(wall: number): number {
    const likely = wall - this.#offset;
    if (likely >= this.#from + SET_BACK_MS_MAX && likely < this.#until) return likely;
    const at = firstInstant(wallTimeAt(wall, 'UTC'), this.#timeZone);
    this.#moveTo(at);
    return at;
  }

  wallTimeAt(at: number): number {
    this.#moveTo(at);
    return at + this.#offset;
  }

  #moveTo(at: number): void {
    if (at >= this.#from && at < this.#until) return;
    // `previous` excludes a transition at the instant itself, so add 1 ms.
    const now = Temporal.Instant.fromEpochMilliseconds(at + 1).toZonedDateTimeISO(this.#timeZone);
    this.#from = now.getTimeZoneTransition('previous')?.epochMilliseconds ?? -Infinity;
    this.#until = now.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity;
    this.#offset = now.offsetNanoseconds / 1e6;
  }
}

/** The wall time that the clock of a zone shows at a moment. */
export const wallTimeAt = (at: number, timeZone: string): Temporal.PlainDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone).toPlainDateTime();

/** The canonical IANA name; null for any other text. Offsets are rejected. */
export function timeZoneName(text: string): string | null {
  if (!/^[A-Za-z]/.test(text)) return null;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text).timeZoneId;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** A wall time as milliseconds as if it were UTC. */
export const wallMilliseconds = (wall: Temporal.PlainDateTime | string): number =>
  Temporal.PlainDateTime.from(wall).toZonedDateTime('UTC').epochMilliseconds;
