import { Temporal } from 'temporal-polyfill';
import { DAY_MS, HOUR_MS } from '../../../infra/days.ts';
import { wallMilliseconds, wallTimeAt, ZoneClock } from './first-instant.ts';
import { activeSpans, type Span, type TimeInterval } from './time-intervals.ts';

export const ROTATION_UNITS = ['hours', 'days', 'weeks', 'months'] as const;
export type RotationUnit = (typeof ROTATION_UNITS)[number];

/** One revision of a rotation, valid until the next one. Wall times are in the schedule's zone. */
export interface RotationRevision {
  readonly rotation: string;
  readonly effective: number;
  /** The rotation ends at `effective`. */
  readonly endsRotation: boolean;
  /** Only the highest active priority is on call. */
  readonly priority: number;
  /** Wall time to the minute. */
  readonly startsAt: string;
  /** '' for none. */
  readonly endsAt: string;
  readonly length: number;
  readonly unit: RotationUnit;
  /** Users of each turn; an empty turn is off. */
  readonly turns: readonly (readonly string[])[];
  /** Empty for always. */
  readonly activeTimes: readonly TimeInterval[];
}

export interface Override extends Span {
  readonly id: string;
  /** '' for nobody. */
  readonly user: string;
  /** The user that is replaced; '' for everybody. */
  readonly replaces: string;
}

export interface ScheduleData {
  readonly timeZone: string;
  /** In order of creation: of two revisions with the same effective time, the later one counts. */
  readonly rotations: readonly RotationRevision[];
  /** In order of creation, which is the order in which they apply. */
  readonly overrides: readonly Override[];
  /** True for users who may be on call: at least Developer, and not locked. */
  readonly isAvailable: (user: string) => boolean;
}

/** A span in which the same users are on call by the same turns and overrides. */
export interface Shift extends Span {
  readonly users: readonly string[];
  /** Ids of its rotations and overrides. */
  readonly rotations: readonly string[];
  readonly overrides: readonly string[];
}

/** A span in which a turn is active, with the users who can be on call. */
interface ActiveTurn extends Span {
  readonly rotation: string;
  readonly index: number;
  readonly priority: number;
  readonly users: readonly string[];
}

export function onCallAt(schedule: ScheduleData, at: number): readonly string[] {
  return shiftsBetween(schedule, at, at + 1)[0]?.users ?? [];
}

/** Shifts in order, clipped to the window. Between shifts nobody is on call. */
export function shiftsBetween(schedule: ScheduleData, from: number, until: number): readonly Shift[] {
  const shifts: Shift[] = [];
  let newest: Stretch | undefined;
  for (const stretch of stretchesBetween(schedule, { from, until })) {
    const last = shifts.at(-1);
    if (stretch.users.length === 0) continue;
    if (last?.until === stretch.from && newest !== undefined && hasSameOrigin(newest, stretch)) {
      shifts[shifts.length - 1] = { ...last, until: stretch.until };
    } else {
      const { users, turns, overrides } = stretch;
      shifts.push({
        from: stretch.from,
        until: stretch.until,
        users,
        rotations: turns.map(({ rotation }) => rotation),
        overrides: overrides.map(({ id }) => id),
      });
    }
    newest = stretch;
  }
  return shifts;
}

/** The spans in which nobody is on call. */
export const gapsBetween = (schedule: ScheduleData, from: number, until: number): readonly Span[] =>
  gapsIn(shiftsBetween(schedule, from, until), { from, until });

/** The spans between the shifts of a window. */
export function gapsIn(shifts: readonly Span[], { from, until }: Span): readonly Span[] {
  const gaps: Span[] = [];
  let covered = from;
  for (const shift of shifts) {
    if (shift.from > covered) gaps.push({ from: covered, until: shift.from });
    covered = shift.until;
  }
  if (covered < until) gaps.push({ from: covered, until });
  return gaps;
}

/** A span in which nothing changes. */
interface Stretch extends Span {
  readonly users: readonly string[];
  readonly turns: readonly ActiveTurn[];
  readonly overrides: readonly Override[];
}

const hasSameOrigin = (a: Stretch, b: Stretch): boolean =>
  a.turns.length === b.turns.length &&
  a.overrides.length === b.overrides.length &&
  a.users.join() === b.users.join() &&
  a.overrides.every((override, i) => override === b.overrides[i]) &&
  a.turns.every(({ rotation, index }, i) => rotation === b.turns[i]?.rotation && index === b.turns[i].index);

function* stretchesBetween(schedule: ScheduleData, window: Span): Generator<Stretch> {
  const clock = new ZoneClock(schedule.timeZone);
  const rotations = [...Map.groupBy(schedule.rotations, ({ rotation }) => rotation).values()].map(
    (revisions) => new TurnCursor(turnsOfRotation(revisions, schedule, clock, window)),
  );
  const overrides = schedule.overrides.filter(
    ({ user, from, until }) =>
      from < window.until && until > window.from && (user === '' || schedule.isAvailable(user)),
  );
  const bounds = overrides.flatMap(({ from, until }) => [from, until]).sort((a, b) => a - b);
  let nextBound = 0;
  for (let at = window.from; at < window.until; ) {
    while ((bounds[nextBound] ?? Infinity) <= at) nextBound++;
    const turns = rotations.flatMap((cursor) => cursor.turnAt(at) ?? []);
    const until = Math.min(
      window.until,
      bounds[nextBound] ?? Infinity,
      ...rotations.map((cursor) => cursor.nextChange(at)),
    );
    const priority = Math.max(...turns.map((turn) => turn.priority));
    const deciding = turns.filter((turn) => turn.priority === priority);
    const now = overrides.filter((override) => override.from <= at && at < override.until);
    yield { from: at, until, ...applyOverrides(deciding, now) };
    at = until;
  }
}

/** Drops turns and overrides that a later override replaces. */
function applyOverrides(
  deciding: readonly ActiveTurn[],
  active: readonly Override[],
): Pick<Stretch, 'users' | 'turns' | 'overrides'> {
  let turns = deciding;
  let overrides: readonly Override[] = [];
  let users: readonly string[] = [...new Set(turns.flatMap((turn) => turn.users))];
  for (const override of active) {
    const { user, replaces } = override;
    if (replaces === '') {
      users = user === '' ? [] : [user];
      turns = [];
      overrides = [override];
    } else if (users.includes(replaces)) {
      const next = users.map((other) => (other === replaces ? user : other)).filter((other) => other !== '');
      users = [...new Set(next)];
      overrides = [...overrides, override];
    }
  }
  return { users, turns, overrides };
}

/** Iterates over the turns of a rotation, which are sorted and disjoint. */
class TurnCursor {
  readonly #turns: Iterator<ActiveTurn>;
  #turn: ActiveTurn | undefined;

  constructor(turns: Iterator<ActiveTurn>) {
    this.#turns = turns;
    this.#turn = this.#next();
  }

  /** `at` must not decrease. */
  turnAt(at: number): ActiveTurn | undefined {
    while (this.#turn !== undefined && this.#turn.until <= at) this.#turn = this.#next();
    return this.#turn !== undefined && this.#turn.from <= at ? this.#turn : undefined;
  }

  nextChange(at: number): number {
    if (this.#turn === undefined) return Infinity;
    return this.#turn.from > at ? this.#turn.from : this.#turn.until;
  }

  #next(): ActiveTurn | undefined {
    const { value, done } = this.#turns.next();
    return done ? undefined : value;
  }
}

/** Active turns with somebody in them; each revision is limited to its own period. */
function* turnsOfRotation(
  revisions: readonly RotationRevision[],
  { isAvailable }: ScheduleData,
  clock: ZoneClock,
  window: Span,
): Generator<ActiveTurn> {
  const inOrder = revisions.toSorted((a, b) => a.effective - b.effective);
  for (const [i, revision] of inOrder.entries()) {
    if (revision.endsRotation) return;
    const from = Math.max(window.from, revision.effective);
    const until = Math.min(window.until, inOrder[i + 1]?.effective ?? Infinity);
    if (from >= until) continue;
    yield* turnsOfRevision(revision, isAvailable, clock, { from, until });
  }
}

function* turnsOfRevision(
  revision: RotationRevision,
  isAvailable: ScheduleData['isAvailable'],
  clock: ZoneClock,
  window: Span,
): Generator<ActiveTurn> {
  const { rotation, priority, endsAt, activeTimes, turns } = revision;
  const end = endsAt === '' ? Infinity : clock.firstInstant(wallMilliseconds(endsAt));
  const handoffs = new Handoffs(revision, clock);
  let index = handoffs.indexAt(window.from);
  for (const span of activeTimes.length === 0 ? [window] : activeSpans(activeTimes, clock, window)) {
    const until = Math.min(span.until, end);
    // A turn may go on in the next span.
    while (handoffs.at(index + 1) <= span.from) index++;
    for (let k = index; handoffs.at(k) < until; k++) {
      const users = availableUsers(turns, k, isAvailable);
      const turn = { from: Math.max(handoffs.at(k), span.from), until: Math.min(handoffs.at(k + 1), until) };
      if (users.length > 0 && turn.from < turn.until) yield { ...turn, rotation, index: k, priority, users };
    }
  }
}

/** If nobody in a turn can be on call, the next turn with somebody available stands in. */
function availableUsers(
  turns: RotationRevision['turns'],
  index: number,
  isAvailable: ScheduleData['isAvailable'],
): readonly string[] {
  if (turns[index % turns.length]?.length === 0) return [];
  for (let ahead = 0; ahead < turns.length; ahead++) {
    const users = (turns[(index + ahead) % turns.length] ?? []).filter(isAvailable);
    if (users.length > 0) return users;
  }
  return [];
}

const UNIT_MS = { hours: HOUR_MS, days: DAY_MS, weeks: 7 * DAY_MS };

/** The handoffs of a rotation. Handoff k is k turn lengths after the start, in wall time. */
class Handoffs {
  readonly #start: Temporal.PlainDateTime;
  readonly #startMs: number;
  readonly #rotation: Pick<RotationRevision, 'length' | 'unit'>;
  readonly #clock: ZoneClock;

  constructor(rotation: Pick<RotationRevision, 'startsAt' | 'length' | 'unit'>, clock: ZoneClock) {
    this.#start = Temporal.PlainDateTime.from(rotation.startsAt);
    this.#startMs = wallMilliseconds(this.#start);
    this.#rotation = rotation;
    this.#clock = clock;
  }

  at(index: number): number {
    const { length, unit } = this.#rotation;
    const wall =
      unit === 'months'
        ? wallMilliseconds(this.#start.add({ months: index * length }))
        : this.#startMs + index * length * UNIT_MS[unit];
    return this.#clock.firstInstant(wall);
  }

  /** The index of the turn at a moment; 0 before the start. */
  indexAt(at: number): number {
    const { length, unit } = this.#rotation;
    const wall = wallTimeAt(this.#clock.wallTimeAt(at), 'UTC');
    const elapsed = this.#start.until(wall, { largestUnit: unit })[unit];
    // Daylight saving changes can put the estimate off by one turn at most.
    let index = Math.max(0, Math.floor(elapsed / length));
    while (index > 0 && this.at(index) > at) index--;
    while (this.at(index + 1) <= at) index++;
    return index;
  }
}
