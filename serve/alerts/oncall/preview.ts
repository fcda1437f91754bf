import { gapsIn, type ScheduleData, shiftsBetween } from './on-call.ts';
import type { Span } from './time-intervals.ts';

/** The spans that an edit adds to a user's shifts, and the spans that it removes. */
export interface PersonChange {
  /** '' for nobody: the gaps of the schedule. */
  readonly user: string;
  readonly gains: readonly Span[];
  readonly loses: readonly Span[];
}

/** The changes of an edit by person. Leaves out people without changes. */
export function personChanges(
  before: ScheduleData,
  after: ScheduleData,
  window: Span,
): readonly PersonChange[] {
  const [spansBefore, spansAfter] = [spansByUser(before, window), spansByUser(after, window)];
  return [...new Set([...spansBefore.keys(), ...spansAfter.keys()])]
    .map((user) => {
      const [earlier = [], later = []] = [spansBefore.get(user), spansAfter.get(user)];
      return { user, gains: subtract(later, earlier), loses: subtract(earlier, later) };
    })
    .filter(({ gains, loses }) => gains.length + loses.length > 0);
}

function spansByUser(schedule: ScheduleData, window: Span): ReadonlyMap<string, readonly Span[]> {
  const shifts = shiftsBetween(schedule, window.from, window.until);
  const found = new Map<string, Span[]>([['', [...gapsIn(shifts, window)]]]);
  for (const shift of shifts) {
    for (const user of shift.users) {
      const spans = found.get(user) ?? [];
      const last = spans.at(-1);
      if (last?.until === shift.from) spans[spans.length - 1] = { from: last.from, until: shift.until };
      else spans.push({ from: shift.from, until: shift.until });
      found.set(user, spans);
    }
  }
  return found;
}

/** The parts of `spans` outside `others`. Both are sorted and disjoint. */
function subtract(spans: readonly Span[], others: readonly Span[]): readonly Span[] {
  return spans.flatMap((span) => {
    const parts: Span[] = [];
    let from = span.from;
    for (const other of others) {
      if (other.until <= from || other.from >= span.until) continue;
      if (other.from > from) parts.push({ from, until: other.from });
      from = other.until;
    }
    if (from < span.until) parts.push({ from, until: span.until });
    return parts;
  });
}
