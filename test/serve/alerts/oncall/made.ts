import type { Override, RotationRevision, ScheduleData } from '../../../../serve/alerts/oncall/on-call.ts';

export const ms = (text: string): number => Date.parse(text);

/** A weekly rotation of two people that has always counted. */
export const madeRotation = (more: Partial<RotationRevision> = {}): RotationRevision => ({
  rotation: 'first',
  effective: 0,
  endsRotation: false,
  priority: 0,
  startsAt: '2027-03-22T09:00',
  endsAt: '',
  length: 1,
  unit: 'weeks',
  turns: [['ann'], ['bob']],
  activeTimes: [],
  ...more,
});

export const madeOverride = (more: Partial<Override> = {}): Override => ({
  id: 'override',
  from: 0,
  until: 0,
  user: '',
  replaces: '',
  ...more,
});

export const madeSchedule = (more: Partial<ScheduleData> = {}): ScheduleData => ({
  timeZone: 'UTC',
  rotations: [],
  overrides: [],
  isAvailable: () => true,
  ...more,
});
