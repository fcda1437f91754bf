import type { Clock } from '../../../../infra/ports.ts';

/** Minutes of policies pass in seconds. */
const SPEED = 60;

/** A clock that several processes share: it runs fast from a time on. */
export const fastClock = (started: number): Clock => ({
  now: () => Math.round(started + (Date.now() - started) * SPEED),
});
