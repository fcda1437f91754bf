import type { Random } from '../../../../ingest/demo/random.ts';
import {
  type Override,
  ROTATION_UNITS,
  type RotationRevision,
  type ScheduleData,
} from '../../../../serve/alerts/oncall/on-call.ts';
import type { Span, TimeInterval } from '../../../../serve/alerts/oncall/time-intervals.ts';
import { madeRotation, madeSchedule } from './made.ts';

/** Zones whose clocks change at odd times, or are odd. */
export const ZONES = [
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Casablanca',
  'America/Santiago',
  'Africa/Cairo',
  'Asia/Kathmandu',
  'America/Havana',
  'Europe/Berlin',
  'Europe/London',
  'America/New_York',
  'America/St_Johns',
  'Pacific/Chatham',
];

const PEOPLE = Array.from({ length: 50 }, (_, i) => `user ${i}`);
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const twoDigits = (number: number) => String(number).padStart(2, '0');
const clock = (random: Random) =>
  `${twoDigits(random.whole(0, 23))}:${random.pick(['00', '15', '30', '59'])}`;
const momentIn = (random: Random, { from, until }: Span) =>
  from + Math.floor((random.fraction() * (until - from)) / MINUTE) * MINUTE;
const wallIn = (random: Random, span: Span) =>
  `${new Date(momentIn(random, span)).toISOString().slice(0, 11)}${clock(random)}`;

function turns(random: Random): string[][] {
  const made = Array.from({ length: random.whole(1, 7) }, () =>
    random.chance(0.12) ? [] : random.shuffled(PEOPLE).slice(0, random.pick([1, 1, 1, 2, 3])),
  );
  return made.some((users) => users.length > 0) ? made : [['user 0']];
}

export function randomInterval(random: Random): TimeInterval {
  const end = () => (random.chance(0.2) ? '24:00' : clock(random));
  return {
    ...(random.chance(0.8) ? { times: [{ start_time: clock(random), end_time: end() }] } : {}),
    ...(random.chance(0.4)
      ? { weekdays: [random.pick(['monday:friday', 'saturday', 'sunday:monday'])] }
      : {}),
    ...(random.chance(0.15) ? { days_of_month: [random.pick(['1:10', '-7:-1', '15:31', '-31:-10'])] } : {}),
    ...(random.chance(0.1) ? { months: [random.pick(['1:3', 'march:november', '10'])] } : {}),
    ...(random.chance(0.05) ? { years: [random.pick(['2027', '2027:2028'])] } : {}),
  };
}

function revisions(random: Random, rotation: string, span: Span): RotationRevision[] {
  const before = { from: span.from - 400 * DAY, until: span.from + 20 * DAY };
  const effective = [0, ...Array.from({ length: random.pick([0, 0, 1, 2]) }, () => momentIn(random, span))];
  return effective.map((at, i) =>
    madeRotation({
      rotation,
      effective: at,
      endsRotation: i > 0 && random.chance(0.15),
      priority: random.pick([0, 0, 1, 5, 9]),
      startsAt: wallIn(random, before),
      endsAt: random.chance(0.15) ? wallIn(random, span) : '',
      unit: random.pick(ROTATION_UNITS),
      length: random.pick([1, 1, 2, 3, 7, 12]),
      turns: turns(random),
      activeTimes: random.chance(0.5)
        ? []
        : Array.from({ length: random.whole(1, 2) }, () => randomInterval(random)),
    }),
  );
}

function overrides(random: Random, span: Span): Override[] {
  return Array.from({ length: random.whole(0, 12) }, (_, i) => {
    const from = momentIn(random, span);
    return {
      id: `override ${i}`,
      from,
      until: from + random.whole(1, 20_000) * MINUTE,
      user: random.chance(0.15) ? '' : random.pick(PEOPLE),
      replaces: random.chance(0.6) ? random.pick(PEOPLE) : '',
    };
  });
}

/** A schedule of 50 people with overrides, revisions and gaps in a stretch of time. */
export function randomSchedule(random: Random, timeZone: string, span: Span): ScheduleData {
  const gone = new Set(random.shuffled(PEOPLE).slice(0, random.pick([0, 3, 25])));
  return madeSchedule({
    timeZone,
    rotations: Array.from({ length: random.whole(1, 4) }, (_, i) => revisions(random, `${i}`, span)).flat(),
    overrides: overrides(random, span),
    isAvailable: (user) => !gone.has(user),
  });
}
