import { setImmediate } from 'node:timers/promises';
import { DAY_MS } from '../../../infra/days.ts';
import { ZoneClock } from '../oncall/first-instant.ts';
import { activeSpans, type LocatedInterval, type Span } from '../oncall/time-intervals.ts';

/** The times of a maintenance window. It is on during its intervals, within its bounds. */
export interface WindowTimes {
  /** Empty means always. Each interval has its own zone. */
  readonly time_intervals: readonly LocatedInterval[];
  /** 0 for no bound. */
  readonly from_ms: number;
  readonly until_ms: number;
}

/** Spans in which the window is on, sorted and disjoint. */
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

/** Joins lists of sorted and disjoint spans into one. */
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

/** Days that are searched before other work may run: a few milliseconds for 20 zones. */
const SEARCH_DAYS = 60;
/** Ten occurrences of a yearly window. */
const SEARCH_DAYS_MAX = 11 * 366;

/**
 * The next spans in which a window is on. The first begins at `from` if the window is on then. An end of 0 is beyond
 * the search.
 */
export async function nextOccurrences(window: WindowTimes, from: number, count: number): Promise<Span[]> {
  const found: Span[] = [];
  const end = from + SEARCH_DAYS_MAX * DAY_MS;
  // Search one more, because the last span may continue in the next part.
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
