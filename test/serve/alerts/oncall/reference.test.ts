import { describe, expect, test } from 'vitest';
import { Random } from '../../../../ingest/demo/random.ts';
import {
  gapsBetween,
  onCallAt,
  type ScheduleData,
  shiftsBetween,
} from '../../../../serve/alerts/oncall/on-call.ts';
import type { Span } from '../../../../serve/alerts/oncall/time-intervals.ts';
import { randomSchedule, ZONES } from './generated.ts';
import { isWhole, referenceSpans } from './reference-spans.ts';
import { slowOnCall, wallClock } from './slow-schedule.ts';

const MINUTE = 60_000;
const SCHEDULES = isWhole ? 204 : 36;

/** Who is on call at each minute, by the shifts. */
function byMinute(schedule: ScheduleData, { from, until }: Span): (readonly string[])[] {
  const minutes: (readonly string[])[] = Array.from({ length: (until - from) / MINUTE }, () => []);
  for (const shift of shiftsBetween(schedule, from, until)) {
    for (let at = shift.from; at < shift.until; at += MINUTE) {
      const minute = (at - from) / MINUTE;
      if (!Number.isInteger(minute) || minutes[minute]?.length !== 0) throw new Error(`shift at ${at}`);
      minutes[minute] = shift.users;
    }
  }
  return minutes;
}

describe.each(ZONES)('%s', (timeZone) => {
  test('at each minute those are on call whom the clock on the wall names', { timeout: 3_600_000 }, () => {
    const spans = referenceSpans(timeZone).map((span) => ({
      span,
      wall: wallClock(timeZone, span.from, (span.until - span.from) / MINUTE),
    }));
    const random = new Random(ZONES.indexOf(timeZone));
    for (let i = 0; i < SCHEDULES / ZONES.length; i++) {
      for (const { span, wall } of spans) {
        const schedule = randomSchedule(random, timeZone, span);
        expect(differences(schedule, span, wall)).toEqual([]);
      }
    }
  });
});

function differences(schedule: ScheduleData, span: Span, wall: Int32Array): string[] {
  const found: string[] = [];
  const wantedAt = slowOnCall(schedule);
  const isGap = gapMinutes(schedule, span);
  for (const [minute, users] of byMinute(schedule, span).entries()) {
    const at = span.from + minute * MINUTE;
    const wanted = wantedAt(at, wall[minute] as number);
    const isEqual = users.length === wanted.size && users.every((user) => wanted.has(user));
    const isFoundAlone = minute % 977 !== 0 || onCallAt(schedule, at).join() === users.join();
    if (!isEqual || !isFoundAlone || (isGap[minute] === 1) !== (wanted.size === 0))
      found.push(`${new Date(at).toISOString()}: ${users} instead of ${[...wanted]}`);
    if (found.length > 4) break;
  }
  return found;
}

function gapMinutes(schedule: ScheduleData, { from, until }: Span): Uint8Array {
  const minutes = new Uint8Array((until - from) / MINUTE);
  for (const gap of gapsBetween(schedule, from, until))
    minutes.fill(1, (gap.from - from) / MINUTE, (gap.until - from) / MINUTE);
  return minutes;
}
