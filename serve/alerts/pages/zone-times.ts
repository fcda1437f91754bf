import type { FastifyRequest } from 'fastify';
import { Temporal } from 'temporal-polyfill';
import { type Html, html } from '../../pages/html.ts';
import { firstInstant, timeZoneName, wallTimeAt } from '../oncall/first-instant.ts';
import type { Span } from '../oncall/time-intervals.ts';

/** Times as the clocks of a zone show them. */
export class ZoneTimes {
  readonly zone: string;
  readonly #moments: Intl.DateTimeFormat;
  readonly #days: Intl.DateTimeFormat;
  readonly #dated: Intl.DateTimeFormat;

  constructor(zone: string) {
    this.zone = zone;
    const day = { weekday: 'short', day: 'numeric', month: 'short', timeZone: zone } as const;
    this.#days = new Intl.DateTimeFormat('en-GB', day);
    const minute = { ...day, hour: '2-digit', minute: '2-digit' } as const;
    this.#moments = new Intl.DateTimeFormat('en-GB', minute);
    this.#dated = new Intl.DateTimeFormat('en-GB', { ...minute, year: 'numeric' });
  }

  /** Mon 22 Mar, 09:00 */
  moment(ms: number): string {
    return this.#moments.format(ms);
  }

  /** Mon, 22 Mar 2027, 09:00 */
  datedMoment(ms: number): string {
    return this.#dated.format(ms);
  }

  /** Mon 22 Mar */
  day(ms: number): string {
    return this.#days.format(ms);
  }

  /** 2027-03-22T09:00, as forms have it. */
  input(ms: number): string {
    return wallTimeAt(ms, this.zone).toString({ smallestUnit: 'minute' });
  }

  /** The moments at which days begin, from `from` on and before `until`. */
  days(from: number, until: number): readonly number[] {
    const starts: number[] = [];
    let day = wallTimeAt(from, this.zone).toPlainDate();
    for (let start = this.startOf(day); start < until; start = this.startOf(day)) {
      if (start >= from && start !== starts.at(-1)) starts.push(start);
      day = day.add({ days: 1 });
    }
    return starts;
  }

  /** The moment of a wall time in a form; null for any other text. */
  momentOf(input: string): number | null {
    try {
      return firstInstant(Temporal.PlainDateTime.from(input), this.zone);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return null;
    }
  }

  startOf(day: Temporal.PlainDate): number {
    return firstInstant(day.toPlainDateTime(), this.zone);
  }

  /** The date in a URL or a form, or today. */
  dateOf(text: unknown, now: number): Temporal.PlainDate {
    if (typeof text === 'string' && /^\d{4}-\d\d-\d\d$/.test(text)) {
      try {
        return Temporal.PlainDate.from(text);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
      }
    }
    return wallTimeAt(now, this.zone).toPlainDate();
  }
}

/** The clocks of a page: the schedule's, and the reader's if it differs. */
export interface Clocks {
  readonly times: ZoneTimes;
  readonly reader: ZoneTimes | null;
}

/** Reads the zone of the reader from the URL, or else from the cookie of a script. */
export function clocksOf(request: FastifyRequest, zone: string, { from, until }: Span): Clocks {
  const times = new ZoneTimes(zone);
  const name = timeZoneName(readerZoneOf(request));
  const reader = name === null ? null : new ZoneTimes(name);
  const isSame = [from, until].every((at) => reader?.input(at) === times.input(at));
  return { times, reader: isSame ? null : reader };
}

/** '' if the zone is unknown. */
export function readerZoneOf(request: FastifyRequest): string {
  const { zone } = request.query as { readonly zone?: unknown };
  return typeof zone === 'string' ? zone : (request.cookies.time_zone ?? '');
}

const timeTag = (ms: number, times: ZoneTimes): Html =>
  html`<time datetime="${new Date(ms).toISOString()}">${times.moment(ms)}</time>`;

/** A moment by both clocks. */
export const momentBy = (ms: number, { times, reader }: Clocks): Html =>
  html`${timeTag(ms, times)}${reader && html` <span class="under other-clock">${timeTag(ms, reader)} for you</span>`}`;

/** A stretch of time by both clocks. */
export const stretchBy = ({ from, until }: Span, { times, reader }: Clocks): Html =>
  html`${timeTag(from, times)} to\u00a0${timeTag(until, times)}${reader && html` <span class="under other-clock">${timeTag(from, reader)} to\u00a0${timeTag(until, reader)} for\u00a0you</span>`}`;

/** Like `stretchBy`, with the year. An end of 0 means no end. */
export const datedStretchBy = ({ from, until }: Span, { times, reader }: Clocks): Html =>
  html`${datedStretch(from, until, times)}${reader && html` <span class="under other-clock">${datedStretch(from, until, reader)} for\u00a0you</span>`}`;

function datedStretch(from: number, until: number, times: ZoneTimes): Html {
  const tag = (ms: number) =>
    html`<time datetime="${new Date(ms).toISOString()}">${times.datedMoment(ms)}</time>`;
  return until === 0 ? html`from ${tag(from)}, without an end` : html`${tag(from)} to\u00a0${tag(until)}`;
}
