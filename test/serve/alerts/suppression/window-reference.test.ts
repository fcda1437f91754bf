import { expect, test } from 'vitest';
import { Random } from '../../../../ingest/demo/random.ts';
import type { Span } from '../../../../serve/alerts/oncall/time-intervals.ts';
import {
  nextOccurrences,
  type WindowTimes,
  windowSpans,
} from '../../../../serve/alerts/suppression/window-times.ts';
import { randomInterval, ZONES } from '../oncall/generated.ts';
import { isWhole, referenceSpans } from '../oncall/reference-spans.ts';
import { isActive, wallClock } from '../oncall/slow-schedule.ts';

const MINUTE = 60_000;
const WINDOWS = isWhole ? 10 : 4;

/** Of one zone and another one, so that stretches of both meet. */
function randomWindow(random: Random, timeZone: string, { from, until }: Span): WindowTimes {
  const bound = () => from + random.whole(0, (until - from) / MINUTE) * MINUTE;
  const [first, last] = [bound(), bound()].sort((a, b) => a - b) as [number, number];
  return {
    time_intervals: Array.from({ length: random.whole(0, 4) }, () => ({
      ...randomInterval(random),
      location: random.chance(0.8) ? timeZone : 'Asia/Kathmandu',
    })),
    from_ms: random.chance(0.3) ? first : 0,
    until_ms: random.chance(0.3) ? last + MINUTE : 0,
  };
}

test.each(ZONES)(
  'in %s a window is on at the minutes at which the clock on the wall says so',
  {
    timeout: 3_600_000,
  },
  async (timeZone) => {
    const random = new Random(1 + ZONES.indexOf(timeZone));
    for (const span of referenceSpans(timeZone)) {
      const minutes = (span.until - span.from) / MINUTE;
      const walls = new Map(
        [timeZone, 'Asia/Kathmandu'].map((zone) => [zone, wallClock(zone, span.from, minutes)]),
      );
      for (let i = 0; i < WINDOWS; i++) {
        const window = randomWindow(random, timeZone, span);
        const wanted = slowSpans(window, span, walls);
        expect([...windowSpans(window, span)]).toEqual(wanted);
        const at = span.from + random.whole(0, minutes - 1) * MINUTE;
        expect([...windowSpans(window, { from: at, until: at + 1 })].length > 0).toBe(
          wanted.some(({ from, until }) => from <= at && at < until),
        );
        const inside = wanted.filter(({ until }) => until < span.until).slice(0, 10);
        expect((await nextOccurrences(window, span.from, 10)).slice(0, inside.length)).toEqual(inside);
      }
    }
  },
);

/** The stretches in which a window is on, minute by minute. */
function slowSpans(
  { time_intervals, from_ms, until_ms }: WindowTimes,
  span: Span,
  walls: ReadonlyMap<string, Int32Array>,
): Span[] {
  const found: { from: number; until: number }[] = [];
  for (let minute = 0, at = span.from; at < span.until; minute++, at += MINUTE) {
    const isWithin = at >= from_ms && (until_ms === 0 || at < until_ms);
    const isTime =
      time_intervals.length === 0 ||
      time_intervals.some((interval) => isActive(interval, walls.get(interval.location)?.[minute] as number));
    if (!isWithin || !isTime) continue;
    const last = found.at(-1);
    if (last?.until === at) last.until += MINUTE;
    else found.push({ from: at, until: at + MINUTE });
  }
  return found;
}
