import { gapsIn } from '../oncall/on-call.ts';
import type { Span } from '../oncall/time-intervals.ts';

export interface StaffedSpan extends Span {
  readonly users: readonly string[];
}

export interface Board {
  /** The people on call now; null for nobody. */
  readonly current: StaffedSpan | null;
  readonly next: StaffedSpan | null;
  /** End of the covered time. */
  readonly until: number;
  /** Spans without anybody on call. */
  readonly gaps: readonly Span[];
  /** The next shifts of the reader, the current one included. */
  readonly mine: readonly Span[];
}

/** The people on call now and next, from the shifts of a span that starts now. */
export function boardOf(shifts: readonly StaffedSpan[], { from: now, until }: Span, reader: string): Board {
  const turns = mergeTouching(shifts);
  const current = turns.find(({ from, until }) => from <= now && now < until) ?? null;
  const next = turns.find(({ from }) => from > now) ?? null;
  return {
    current,
    next,
    until,
    gaps: gapsIn(shifts, { from: now, until }),
    mine: stretchesOf(shifts, reader),
  };
}

/** The spans in which a user is on call, alone or with others. */
export const stretchesOf = (shifts: readonly StaffedSpan[], user: string): Span[] =>
  mergeTouching(
    shifts
      .filter(({ users }) => users.includes(user))
      .map(({ from, until }) => ({ from, until, users: [user] })),
  ).map(({ from, until }) => ({ from, until }));

/** Merges touching spans of the same people, because a handoff to oneself changes nothing. */
function mergeTouching(shifts: readonly StaffedSpan[]): StaffedSpan[] {
  const result: StaffedSpan[] = [];
  for (const shift of shifts) {
    const last = result.at(-1);
    const isSame = last?.until === shift.from && last.users.join() === shift.users.join();
    if (isSame) result[result.length - 1] = { ...last, until: shift.until };
    else result.push({ from: shift.from, until: shift.until, users: shift.users });
  }
  return result;
}
