import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  FairSchedule,
  type TaskCounts,
  type TaskResult,
} from '../../../serve/alerts/consequences/fair-schedule.ts';
import { isRefusal, retryDelayMs } from '../../../serve/alerts/notifications/back-off.ts';
import type { Notification } from '../../../serve/alerts/notifications/notification.ts';
import { chainsToSend, cutAfter, sendChains } from '../../../serve/alerts/notifications/round.ts';

const DONE: TaskResult = { dueMs: null };

/** A schedule whose tasks end when the test says so. */
function scheduled(concurrency: number, projectConcurrency: number) {
  const started: string[] = [];
  const ends = new Map<string, (result: TaskResult) => void>();
  let now = 0;
  let counts: TaskCounts = { waiting: 0, failing: 0 };
  const schedule = new FairSchedule({
    clock: { now: () => now },
    concurrency,
    projectConcurrency,
    run: (project, name) => {
      started.push(`${project} ${name}`);
      return new Promise((end) => ends.set(`${project} ${name}`, end));
    },
    onFailure: () => {},
    onTasks: (tasks) => {
      counts = tasks;
    },
  });
  const end = async (task: string, result = DONE) => {
    ends.get(task)?.(result);
    await new Promise((later) => setImmediate(later));
  };
  return { schedule, started, end, at: (ms: number) => (now = ms), counts: () => counts };
}

test('projects take turns, and none has more than its places', async () => {
  const { schedule, started, end } = scheduled(3, 2);
  for (const name of ['a', 'b', 'c', 'd']) schedule.wake({ project: 1, name });
  schedule.wake({ project: 2, name: 'a' });
  expect(started).toEqual(['1 a', '1 b', '2 a']);
  schedule.wake({ project: 2, name: 'b' });
  await end('1 a');
  await end('1 b');
  await end('2 a');
  expect(started.slice(3)).toEqual(['1 c', '2 b', '1 d']);
});

test('failing tasks get half of the places, and wait as long as they say whatever wakes them', async () => {
  const { schedule, started, end, at } = scheduled(4, 4);
  for (let project = 1; project <= 4; project++) schedule.wake({ project, name: 'x' });
  for (let project = 1; project <= 4; project++) await end(`${project} x`, { dueMs: 100, isFailing: true });
  for (let project = 1; project <= 4; project++) schedule.wake({ project, name: 'x' });
  expect(started).toHaveLength(4);
  at(100);
  schedule.wake({ project: 5, name: 'x' });
  expect(started.slice(4)).toEqual(['1 x', '2 x', '5 x']);
});

test('tasks count while something is left to do, and as failing until they succeed', async () => {
  const { schedule, end, at, counts } = scheduled(4, 4);
  for (const name of ['a', 'b']) schedule.wake({ project: 1, name });
  expect(counts()).toEqual({ waiting: 2, failing: 0 });
  await end('1 a', { dueMs: 100, isFailing: true });
  await end('1 b');
  expect(counts()).toEqual({ waiting: 0, failing: 1 });
  at(100);
  schedule.wake({ project: 1, name: 'a' });
  await end('1 a', { dueMs: 200, isBroken: true });
  expect(counts()).toEqual({ waiting: 0, failing: 1 });
  at(200);
  schedule.wake({ project: 1, name: 'a' });
  await end('1 a', { dueMs: 300 });
  expect(counts()).toEqual({ waiting: 1, failing: 0 });
});

test('tasks that are slow get half of the places, all of them and those of a project', async () => {
  const { schedule, started, end, at } = scheduled(8, 4);
  for (const project of [1, 2]) {
    for (const name of ['a', 'b', 'c', 'd']) schedule.wake({ project, name });
  }
  expect(started).toHaveLength(8);
  at(9000);
  for (const task of started.slice()) await end(task, { dueMs: 9000 });
  // Two of four places of each project; so the receivers that are quick find two, and other projects four.
  expect(started.slice(8)).toEqual(['1 a', '1 b', '2 a', '2 b']);
  schedule.wake({ project: 2, name: 'quick' });
  for (const name of ['e', 'f']) schedule.wake({ project: 3, name });
  expect(started.slice(12)).toEqual(['2 quick', '3 e', '3 f']);
  // Their time is forgotten when they are quick again.
  at(9000 + 600_000);
  await end('2 quick');
  expect(started.slice(15)).toEqual(['1 c', '1 d']);
});

test('a place goes to the project that has used the least time', async () => {
  const { schedule, started, end, at } = scheduled(1, 1);
  for (const [project, ms] of [
    [1, 3000],
    [2, 1000],
  ] as const) {
    schedule.wake({ project, name: 'x' });
    at(project * 10_000 + ms);
    await end(`${project} x`);
    at((project + 1) * 10_000);
  }
  schedule.wake({ project: 3, name: 'x' });
  for (const name of ['a', 'b']) {
    schedule.wake({ project: 1, name });
    schedule.wake({ project: 2, name });
  }
  for (const task of ['3 x', '2 a', '2 b', '1 a', '1 b']) await end(task);
  expect(started.slice(3)).toEqual(['2 a', '2 b', '1 a', '1 b']);
});

test('a failing task runs at once when its wait is over earlier than its run had said', async () => {
  const { schedule, started, end } = scheduled(4, 4);
  schedule.wake({ project: 1, name: 'x' });
  await end('1 x', { dueMs: 600_000, isFailing: true });
  schedule.wake({ project: 1, name: 'x', notBeforeMs: 600_000 });
  expect(started).toHaveLength(1);
  schedule.wake({ project: 1, name: 'x', notBeforeMs: 0 });
  expect(started).toHaveLength(2);
});

test('failing tasks that are due and have no place are not looked at until a place is free', async () => {
  let looks = 0;
  const failed = new Set<number>();
  const schedule = new FairSchedule({
    clock: { now: () => looks++ * 0 },
    concurrency: 2,
    projectConcurrency: 2,
    // The first run of each fails, the second one hangs.
    run: (project) =>
      new Promise((end) => {
        if (!failed.has(project)) end({ dueMs: 0, isFailing: true });
        failed.add(project);
      }),
    onFailure: () => {},
  });
  for (let project = 1; project <= 3; project++) schedule.wake({ project, name: 'x' });
  await new Promise((later) => setImmediate(later));
  const before = looks;
  await pause(50);
  expect(looks).toBe(before);
});

test('a task that is woken while it runs runs once more', async () => {
  const { schedule, started, end } = scheduled(1, 1);
  schedule.wake({ project: 1, name: 'x' });
  schedule.wake({ project: 1, name: 'x' });
  schedule.wake({ project: 1, name: 'x' });
  await end('1 x');
  expect(started).toHaveLength(2);
  await end('1 x');
  expect(started).toHaveLength(2);
});

test('waits double up to the limit, are random, and never so short that five tries take four seconds', () => {
  const waits = (random: number) => [1, 2, 3, 4, 5, 20].map((n) => retryDelayMs(n, 600_000, () => random));
  expect(waits(1)).toEqual([2000, 4000, 8000, 16_000, 32_000, 600_000]);
  expect(waits(0)).toEqual([1000, 1000, 1000, 1000, 1000, 1000]);
  expect(waits(0.5)).toEqual([1000, 2000, 4000, 8000, 16_000, 300_000]);
  expect([200, 204, 301, 400, 404, 408, 410, 425, 429, 500, 503].filter(isRefusal)).toEqual([
    301, 400, 404, 410,
  ]);
});

const notification = (position: number, iid: number, more: Partial<Notification> = {}): Notification => ({
  position,
  item: 0,
  at: 0,
  name: 'created',
  iid,
  attempts: 0,
  next_ms: 0,
  version: 0,
  ...more,
});

test('a round sends what is due, and nothing about an alert behind what is not', () => {
  const failed = notification(1, 1, { attempts: 2, next_ms: 50, version: 1 });
  const [behind, free] = [notification(2, 1), notification(3, 2)];
  const input = { waiting: [failed], fresh: [behind, free], isProbe: false };
  expect(chainsToSend({ ...input, now: 10 })).toEqual([[free]]);
  expect(chainsToSend({ ...input, now: 50 })).toEqual([[failed, behind], [free]]);
  // One that is always refused must not keep the target from being tried.
  expect(chainsToSend({ ...input, now: 50, isProbe: true })).toEqual([[free]]);
});

test('the next round continues behind what was handled; what was passed over is set aside', () => {
  const all = [
    notification(1, 1),
    notification(3, 2),
    notification(3, 3, { item: 4 }),
    notification(3, 4, { item: 5 }),
  ];
  const handled = new Set([all[0], all[2]] as Notification[]);
  expect(cutAfter(all, handled, { position: 0, item: 0 })).toEqual({
    position: 2,
    item: 5,
    passedOver: [all[1]],
  });
  expect(cutAfter(all, new Set(), { position: 7, item: 1 })).toEqual({
    position: 7,
    item: 1,
    passedOver: [],
  });
});

test('a round ends early when nothing is accepted', async () => {
  const chains = Array.from({ length: 100 }, (_, i) => [notification(i + 1, i + 1)]);
  let sent = 0;
  const send = (isAccepted: (n: number) => boolean) => async () => isAccepted(++sent);
  const options = { chains, concurrency: 4, secondsMax: 60, isStopped: () => false };
  await sendChains({ ...options, send: send(() => false) });
  // Those that were under way are not cancelled.
  expect(sent).toBeLessThan(8);
  sent = 0;
  await sendChains({ ...options, send: send((n) => n % 4 === 0) });
  expect(sent).toBe(100);
});
