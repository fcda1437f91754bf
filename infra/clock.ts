import type { Clock } from './runtime.ts';

export const systemClock: Clock = { now: () => Date.now() };
