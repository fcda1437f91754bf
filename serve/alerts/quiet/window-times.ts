import { setImmediate } from 'node:timers/promises';
import { DAY_MS } from '../../../infra/days.ts';
import { ZoneClock } from '../oncall/first-instant.ts';
import { activeSpans, type LocatedInterval, type Span } from '../oncall/time-intervals.ts';

/** When a maintenance window is on: within its bounds, while one of its intervals is. */
export interface WindowTimes {
  /** None: always. Each in its own zone. */
  readonly time_intervals: readonly LocatedInterval[];
  /** 0 for no bound. */
  readonly from_ms: number;
  readonly until_ms: number;
}

/** The stretches from one moment until another in which a window is on, in order and apart. */
export function* windowSpans(
  { time_intervals, from_ms, until_ms }: WindowTimes,
  { from, until }: Span,
): Generator<Span> {
  const bounds = {
    from: Math.max(from, from_ms),
    until: until_ms === 0 ? until : Math.min(until, until_ms),
  };
  if (bounds.from >= bounds.until) return;
  if (time_intervals.length === 0) {
    yield bounds;
    return;
  }
  const zones = Map.groupBy(time_intervals, ({ location }) => location);
  const sources = [...zones].map(([zone, intervals]) => activeSpans(intervals, new ZoneClock(zone), bounds));
  yield* union(sources);
}

/** Joins lists of stretches, each in order and apart, into one. */
function* union(sources: readonly Iterator<Span, unknown>[]): Generator<Span> {
  const heads = sources.map((source) => ({ source, next: source.next() }));
  let open: { from: number; until: number } | null = null;
  for (;;) {
    const [first] = heads
      .filter(({ next }) => !next.done)
      .sort((a, b) => (a.next.value as Span).from - (b.next.value as Span).from);
    if (first === undefined) break;
    const span = first.next.value as Span;
    first.next = first.source.next();
    if (open !== null && span.from <= open.until) open.until = Math.max(open.until, span.until);
    else {
      if (open !== null) yield open;
      open = { ...span };
    }
  }
  if (open !== null) yield open;
}

/** Which part of the future is searched before other work has its turn: some milliseconds for 20 zones. */
const SEARCH_DAYS = 60;
/** Far enough for ten of a window that is on once a year. */
const SEARCH_DAYS_MAX = 11 * 366;

/**
 * The next stretches in which a window is on. The first begins at `from` if the window is on then; one without a
 * known end has an end of 0.
 */
export async function nextOccurrences(window: WindowTimes, from: number, count: number): Promise<Span[]> {
  const found: Span[] = [];
  const end = from + SEARCH_DAYS_MAX * DAY_MS;
  // One more than asked for, since the last may go on behind the searched part.
  for (let at = from; at < end && found.length <= count; at += SEARCH_DAYS * DAY_MS) {
    for (const span of windowSpans(window, { from: at, until: Math.min(at + SEARCH_DAYS * DAY_MS, end) })) {
      const last = found.at(-1);
      if (last?.until === span.from) found.splice(-1, 1, { from: last.from, until: span.until });
      else if (found.push(span) > count) break;
    }
    if (window.until_ms !== 0 && at >= window.until_ms) break;
    await setImmediate();
  }
  return found.slice(0, count).map((span) => (span.until === end ? { ...span, until: 0 } : span));
}
