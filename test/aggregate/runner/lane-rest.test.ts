import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { LaneRest } from '../../../aggregate/runner/lane-rest.ts';
import { systemClock } from '../../../infra/clock.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';

/** As a loader does. */
const LOADING = ['loading', '1|a load', 600_000] as const;

let keyValue: EmbeddedKeyValue;
let isOver: boolean;
let rest: LaneRest;
const waits = { ofRound: 1e9, waitMsMax: 600_000 };
beforeEach(() => {
  keyValue = new EmbeddedKeyValue(systemClock);
  isOver = false;
  rest = new LaneRest({ keyValue, ...waits, isOver: () => isOver });
});
const round = () => rest.after(() => pause(1));

it('the first round begins while a load runs', async () => {
  await keyValue.join(...LOADING);
  await rest.wait();
});

it('the next one waits until no load has run for a moment', async () => {
  await round();
  await keyValue.join(...LOADING);
  const dirtyAt = performance.now();
  expect(rest.finds(dirtyAt)).toBe(false);
  const waited = rest.wait();
  expect(rest.finds(dirtyAt)).toBe(true);
  await keyValue.leave('loading', LOADING[1]);
  await waited;
});

it('loads that never pause stop no round, nor does one that somebody waits for', async () => {
  await keyValue.join(...LOADING);
  const short = new LaneRest({ keyValue, ...waits, waitMsMax: 1, isOver: () => isOver });
  await short.after(() => pause(1));
  await short.wait();
  await round();
  const waited = rest.wait();
  isOver = true;
  await waited;
});

it('a round that began later finds what was dirty', async () => {
  const dirtyAt = performance.now();
  await round();
  expect(rest.finds(dirtyAt)).toBe(true);
  expect(rest.finds(performance.now())).toBe(false);
});
