import { describe, expect, test } from 'vitest';
import {
  gapsBetween,
  onCallAt,
  type ScheduleData,
  shiftsBetween,
} from '../../../../serve/alerts/oncall/on-call.ts';
import { madeOverride, madeRotation, madeSchedule, ms } from './made.ts';

const DAY = 86_400_000;
const START = ms('2027-03-22T00:00Z');
const daily = { startsAt: '2027-03-22T00:00', unit: 'days' as const };

/** Days from the start, and the users: `0-1 ann+bob`. */
function shown(schedule: Partial<ScheduleData>, days = 4): string[] {
  const day = (at: number) => (at - START) / DAY;
  return shiftsBetween(madeSchedule(schedule), START, START + days * DAY).map(
    ({ from, until, users }) => `${day(from)}-${day(until)} ${users.join('+')}`,
  );
}
const override = (from: number, until: number, user: string, replaces = '') =>
  madeOverride({
    id: `${user} for ${replaces}`,
    from: START + from * DAY,
    until: START + until * DAY,
    user,
    replaces,
  });

describe('rotations', () => {
  test('turns go round, an empty one is off, and nobody is on call before the start and after the end', () => {
    const turns = [['ann', 'bob'], [], ['cid']];
    const rotation = madeRotation({
      ...daily,
      turns,
      startsAt: '2027-03-23T00:00',
      endsAt: '2027-03-27T12:00',
    });
    expect(shown({ rotations: [rotation] }, 8)).toEqual(['1-2 ann+bob', '3-4 cid', '4-5 ann+bob']);
    expect(gapsBetween(madeSchedule({ rotations: [rotation] }), START, START + 8 * DAY)).toEqual([
      { from: START, until: START + DAY },
      { from: START + 2 * DAY, until: START + 3 * DAY },
      { from: START + 5 * DAY, until: START + 8 * DAY },
    ]);
  });

  test('of those with somebody in an active turn, the highest priority decides, equal ones together', () => {
    const rotations = [
      madeRotation({ ...daily, rotation: 'low', turns: [['ann']] }),
      madeRotation({ ...daily, rotation: 'high', turns: [['bob'], []], priority: 5 }),
      madeRotation({ ...daily, rotation: 'equal', turns: [['cid'], [], []], priority: 5 }),
    ];
    expect(shown({ rotations })).toEqual(['0-1 bob+cid', '1-2 ann', '2-3 bob', '3-4 cid']);
  });

  test('turns go on counting while they are not active', () => {
    const activeTimes = [{ weekdays: ['monday', 'wednesday:thursday'] }];
    const rotation = madeRotation({ ...daily, turns: [['ann'], ['bob'], ['cid']], activeTimes });
    expect(shown({ rotations: [rotation] })).toEqual(['0-1 ann', '2-3 cid', '3-4 ann']);
  });

  test('a revision counts from its time on, the later one of two at the same time, and an end for good', () => {
    const later = { ...daily, effective: START + DAY };
    const rotations = [
      madeRotation({ ...daily, turns: [['ann']] }),
      madeRotation({ ...later, turns: [['bob']] }),
      madeRotation({ ...later, turns: [['cid']] }),
      madeRotation({ ...daily, endsRotation: true, effective: START + 2 * DAY }),
      madeRotation({ ...daily, turns: [['dan']], effective: START + 3 * DAY }),
    ];
    expect(shown({ rotations })).toEqual(['0-1 ann', '1-2 cid']);
  });

  test('a rotation that was made today has no earlier shifts, and its turns count from its start', () => {
    const rotation = madeRotation({ ...daily, effective: START + 1.5 * DAY });
    expect(shown({ rotations: [rotation] })).toEqual(['1.5-2 bob', '2-3 ann', '3-4 bob']);
  });
});

describe('people who cannot be on call', () => {
  const without =
    (...gone: string[]) =>
    (user: string) =>
      !gone.includes(user);
  const rotations = [madeRotation({ ...daily, turns: [['ann', 'bob'], ['cid'], [], ['dan']] })];

  test('are left out of their turn, and the others keep theirs', () => {
    expect(shown({ rotations, isAvailable: without('ann') })).toEqual(['0-1 bob', '1-2 cid', '3-4 dan']);
  });

  test('the next turn that has somebody stands in for an empty one, not for a turn off', () => {
    expect(shown({ rotations, isAvailable: without('cid') })).toEqual(['0-1 ann+bob', '1-2 dan', '3-4 dan']);
    expect(shown({ rotations, isAvailable: without('ann', 'bob', 'dan') })).toEqual([
      '0-1 cid',
      '1-2 cid',
      '3-4 cid',
    ]);
    expect(shown({ rotations, isAvailable: () => false })).toEqual([]);
  });

  test('their overrides do not count', () => {
    const overrides = [override(0, 2, 'eve')];
    expect(shown({ rotations, overrides, isAvailable: without('eve') })).toEqual([
      '0-1 ann+bob',
      '1-2 cid',
      '3-4 dan',
    ]);
  });
});

describe('overrides', () => {
  const rotations = [madeRotation({ ...daily, turns: [['ann', 'bob'], ['cid']] })];

  test('one replaces a person wherever on call, or everybody', () => {
    expect(shown({ rotations, overrides: [override(0.5, 2.5, 'eve', 'ann')] })).toEqual([
      '0-0.5 ann+bob',
      '0.5-1 eve+bob',
      '1-2 cid',
      '2-2.5 eve+bob',
      '2.5-3 ann+bob',
      '3-4 cid',
    ]);
    expect(shown({ rotations, overrides: [override(0.5, 2.5, 'eve')] })).toEqual([
      '0-0.5 ann+bob',
      '0.5-2.5 eve',
      '2.5-3 ann+bob',
      '3-4 cid',
    ]);
  });

  test('with nobody as the user, a hole is made on purpose', () => {
    expect(shown({ rotations, overrides: [override(1, 2, '', 'cid'), override(2, 3, '', 'ann')] })).toEqual([
      '0-1 ann+bob',
      '2-3 bob',
      '3-4 cid',
    ]);
    expect(shown({ rotations, overrides: [override(0, 3, '')] })).toEqual(['3-4 cid']);
  });

  test('they apply in the order of their creation', () => {
    const first = override(0, 1, 'eve', 'ann');
    const second = override(0, 1, 'fay', 'eve');
    expect(shown({ rotations, overrides: [first, second] }, 1)).toEqual(['0-1 fay+bob']);
    expect(shown({ rotations, overrides: [second, first] }, 1)).toEqual(['0-1 eve+bob']);
    expect(shown({ rotations, overrides: [override(0, 1, ''), override(0, 1, 'fay')] }, 1)).toEqual([
      '0-1 fay',
    ]);
  });

  test('somebody who stands in for two is on call once', () => {
    const both = [override(0, 1, 'eve', 'ann'), override(0, 1, 'eve', 'bob')];
    expect(shown({ rotations, overrides: both }, 1)).toEqual(['0-1 eve']);
  });

  test('one without a rotation beneath it fills a gap', () => {
    expect(shown({ overrides: [override(1, 2, 'eve')] })).toEqual(['1-2 eve']);
  });

  test('a shift names the rotations and overrides that it follows from', () => {
    const [first, second] = shiftsBetween(
      madeSchedule({ rotations, overrides: [override(0, 1, 'eve', 'ann'), override(1, 2, 'fay')] }),
      START,
      START + 2 * DAY,
    );
    expect(first).toMatchObject({ rotations: ['first'], overrides: ['eve for ann'] });
    expect(second).toMatchObject({ rotations: [], overrides: ['fay for '] });
  });
});

describe('who is on call at a moment', () => {
  test('the end of a shift is not in it', () => {
    const schedule = madeSchedule({ rotations: [madeRotation(daily)] });
    expect(onCallAt(schedule, START - 1)).toEqual([]);
    expect(onCallAt(schedule, START)).toEqual(['ann']);
    expect(onCallAt(schedule, START + DAY - 1)).toEqual(['ann']);
    expect(onCallAt(schedule, START + DAY)).toEqual(['bob']);
  });

  test('far from the start, and for a rotation of each unit', () => {
    const at = ms('2199-12-31T23:59Z');
    for (const unit of ['hours', 'days', 'weeks', 'months'] as const) {
      const rotation = madeRotation({ startsAt: '1970-01-01T00:00', unit, turns: [['ann']] });
      expect(onCallAt(madeSchedule({ timeZone: 'Europe/Berlin', rotations: [rotation] }), at)).toEqual([
        'ann',
      ]);
    }
  });
});
