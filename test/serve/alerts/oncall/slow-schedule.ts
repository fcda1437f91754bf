import type { Override, RotationRevision, ScheduleData } from '../../../../serve/alerts/oncall/on-call.ts';
import type { TimeInterval } from '../../../../serve/alerts/oncall/time-intervals.ts';

// A reference that asks the clock on the wall each minute, through Intl.DateTimeFormat, and knows no other time zones.
// The rule "at the first moment at which the clock shows that time or a later one" becomes a clock that never goes
// back: a wall time has come as soon as that clock has reached it.

const MINUTE = 60_000;
const DAY_MINUTES = 1440;

/** Minutes on the wall since 1970, as if its times were UTC, of each minute from one moment on. */
export function wallClock(timeZone: string, from: number, minutes: number): Int32Array {
  const format = new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit' },
  });
  const wall = new Int32Array(minutes);
  // A day earlier, since the clock may have been later then.
  let latest = 0;
  for (let i = -DAY_MINUTES; i < minutes; i++) {
    // Such as `2027-03-28, 03:00`.
    const shown = Date.parse(`${format.format(from + i * MINUTE).replace(', ', 'T')}Z`) / MINUTE;
    latest = Math.max(latest, shown);
    if (i >= 0) wall[i] = latest;
  }
  return wall;
}

const wallMinutes = (text: string): number => Date.parse(`${text}Z`) / MINUTE;
const UNIT_MINUTES = { hours: 60, days: DAY_MINUTES, weeks: 7 * DAY_MINUTES };

/** The turn that the clock has reached; negative before the first. */
function turnIndex({ startsAt, unit, length }: RotationRevision, wall: number): number {
  const start = wallMinutes(startsAt);
  if (wall < start) return -1;
  if (unit !== 'months') return Math.floor((wall - start) / (UNIT_MINUTES[unit] * length));
  const monthOf = (minutes: number) => {
    const date = new Date(minutes * MINUTE);
    return date.getUTCFullYear() * 12 + date.getUTCMonth();
  };
  const index = Math.floor((monthOf(wall) - monthOf(start)) / length);
  return wall >= monthsAfter(start, index * length) ? index : index - 1;
}

function monthsAfter(minutes: number, months: number): number {
  const date = new Date(minutes * MINUTE);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const day = Math.min(date.getUTCDate(), new Date(Date.UTC(year, month + 1, 0)).getUTCDate());
  return Date.UTC(year, month, day, date.getUTCHours(), date.getUTCMinutes()) / MINUTE;
}

const NAMES = {
  weekdays: ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'],
  months: [
    ...['', 'january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september'],
    ...['october', 'november', 'december'],
  ],
};

/** Whether a number is in a list of ranges; names have their place as number, `size` is that of -1. */
function isIn(
  list: readonly (string | number)[] | undefined,
  value: number,
  names: readonly string[] = [],
  size = 0,
): boolean {
  if (list === undefined) return true;
  const number = (text: string) => (names.includes(text) ? names.indexOf(text) : Number(text));
  return list.some((range) => {
    const [first = '', last = first] = String(range).split(':');
    const [begin, end] = [number(first), number(last)].map((n) => (n < 0 ? size + 1 + n : n)) as [
      number,
      number,
    ];
    return value >= begin && value <= end;
  });
}

/** Whether an interval is on while a clock that never goes back shows a wall time. */
export function isActive(interval: TimeInterval, wall: number): boolean {
  const times = interval.times ?? [{ start_time: '00:00', end_time: '24:00' }];
  const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
  return [0, 1, 2].some((daysAgo) => {
    const midnight = Math.floor(wall / DAY_MINUTES) * DAY_MINUTES - daysAgo * DAY_MINUTES;
    const day = new Date(midnight * MINUTE);
    const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
    const daysInMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
    const hasDay =
      isIn(interval.weekdays, day.getUTCDay(), NAMES.weekdays) &&
      isIn(interval.days_of_month, day.getUTCDate(), [], daysInMonth) &&
      isIn(interval.months, month + 1, NAMES.months) &&
      isIn(interval.years, year);
    return (
      hasDay &&
      times.some((time) => {
        const [begin, end] = [minutesOf(time.start_time), minutesOf(time.end_time)];
        const length = end > begin ? end - begin : end + DAY_MINUTES - begin;
        return wall >= midnight + begin && wall < midnight + begin + length;
      })
    );
  });
}

/** The users of a rotation at a minute, before other rotations are looked at. */
function usersOf(revision: RotationRevision, wall: number, isAvailable: (user: string) => boolean): string[] {
  const { turns, activeTimes, endsAt } = revision;
  const index = turnIndex(revision, wall);
  if (index < 0 || (endsAt !== '' && wall >= wallMinutes(endsAt))) return [];
  if (activeTimes.length > 0 && !activeTimes.some((interval) => isActive(interval, wall))) return [];
  const own = turns[index % turns.length] ?? [];
  const queue = [...turns.slice(index % turns.length), ...turns.slice(0, index % turns.length)];
  return own.length === 0
    ? []
    : (queue.map((users) => users.filter(isAvailable)).find((users) => users.length > 0) ?? []);
}

/** The revision that counts at a moment; none before the first, and after an end. */
function revisionAt(revisions: readonly RotationRevision[], at: number): RotationRevision | undefined {
  const past = revisions.filter(({ effective }) => effective <= at);
  if (past.some(({ endsRotation }) => endsRotation)) return undefined;
  const newest = Math.max(...past.map(({ effective }) => effective));
  return past.findLast(({ effective }) => effective === newest);
}

function overridden(users: ReadonlySet<string>, { user, replaces }: Override): Set<string> {
  const next = new Set(users);
  if (replaces !== '' && !next.delete(replaces)) return next;
  if (replaces === '') next.clear();
  if (user !== '') next.add(user);
  return next;
}

/** Who is on call at a minute at which the clock that never goes back shows a wall time. */
export function slowOnCall(schedule: ScheduleData): (at: number, wall: number) => ReadonlySet<string> {
  const { isAvailable } = schedule;
  const rotations = [...Map.groupBy(schedule.rotations, ({ rotation }) => rotation).values()];
  return (at, wall) => {
    let best = -1;
    let users: ReadonlySet<string> = new Set();
    for (const revisions of rotations) {
      const revision = revisionAt(revisions, at);
      const own = revision ? usersOf(revision, wall, isAvailable) : [];
      if (revision === undefined || own.length === 0 || revision.priority < best) continue;
      users = new Set(revision.priority > best ? own : [...users, ...own]);
      best = revision.priority;
    }
    for (const override of schedule.overrides) {
      const { from, until, user } = override;
      const counts = from <= at && at < until && (user === '' || isAvailable(user));
      if (counts) users = overridden(users, override);
    }
    return users;
  };
}
