import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedQueue } from '../../../infra/embedded/queue.ts';
import type { Notification } from '../../../serve/alerts/events/outbox.ts';
import { ProjectJobs, type ProjectTask } from '../../../serve/alerts/events/project-jobs.ts';
import { isRefusal, retryDelayMs } from '../../../serve/alerts/http-client/back-off.ts';
import { DeliveryResults } from '../../../serve/alerts/notifications/delivery-results.ts';

const closed: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closed.splice(0)) await close();
});

/** Jobs whose tasks end when the test says so. */
function opened(concurrency: number, projectConcurrency: number, pendingTasks: readonly ProjectTask[] = []) {
  const started: string[] = [];
  const ends = new Map<string, (againMs: number | undefined) => void>();
  const failures: unknown[] = [];
  const queue = new EmbeddedQueue({ attempts: 2, backoffMs: 1 });
  const jobs = new ProjectJobs({ queue, name: 'jobs', concurrency, projectConcurrency });
  jobs.start({
    run: ({ project, name }) => {
      started.push(`${project} ${name}`);
      return new Promise((end) => ends.set(`${project} ${name}`, end));
    },
    pendingTasks: async () => pendingTasks,
    onFailure: (error) => failures.push(error),
  });
  const endAll = () => {
    for (const end of ends.values()) end(undefined);
  };
  closed.push(async () => {
    endAll();
    await jobs.stop();
    await queue.close();
  });
  const end = async (task: string, againMs?: number) => {
    ends.get(task)?.(againMs);
    await pause(20);
  };
  return { jobs, queue, started, end, endAll, failures };
}
const tasks = (...names: readonly string[]): ProjectTask[] =>
  names.map((text) => {
    const [project, name = ''] = text.split(' ');
    return { project: Number(project), name };
  });

test('a project has no more than its places, so its receivers do not keep those of another waiting', async () => {
  const { jobs, started, end } = opened(6, 2);
  jobs.wake(tasks('1 a', '1 b', '1 c', '1 d', '2 a'));
  await pause(20);
  expect(started).toEqual(['1 a', '1 b', '2 a']);
  await end('1 a');
  await pause(600);
  expect(started.slice(3)).toHaveLength(1);
});

test('tasks that are slow, or were never seen to be quick, get half of the places', async () => {
  const { jobs, started, end } = opened(4, 4);
  jobs.wake(tasks('9 quick'));
  await pause(20);
  await end('9 quick');
  jobs.wake(tasks('1 hangs', '2 hangs', '3 hangs', '4 hangs'));
  await pause(20);
  jobs.wake(tasks('9 quick'));
  await pause(20);
  expect(started).toEqual(['9 quick', '1 hangs', '2 hangs', '9 quick']);
});

test('a task that goes on leaves its place to one of its project that found none', async () => {
  const { jobs, started, end } = opened(3, 1);
  jobs.wake(tasks('1 busy', '1 other'));
  await pause(20);
  await end('1 busy', 0);
  await pause(400);
  expect(started).toEqual(['1 busy', '1 other']);
  await end('1 other');
  await pause(600);
  expect(started).toEqual(['1 busy', '1 other', '1 busy']);
});

test('a task that goes on waits behind those of other projects', async () => {
  const { jobs, started, end } = opened(1, 1);
  jobs.wake(tasks('1 a', '2 a', '3 a'));
  await pause(10);
  await end('1 a', 0);
  await end('2 a');
  await end('3 a');
  expect(started).toEqual(['1 a', '2 a', '3 a', '1 a']);
});

test('a task that is woken while it runs runs once more, at once whatever it says', async () => {
  const { jobs, started, end } = opened(1, 1);
  jobs.wake(tasks('1 a'));
  await pause(10);
  for (let i = 0; i < 3; i++) jobs.wake(tasks('1 a'));
  await end('1 a', 60_000);
  expect(started).toHaveLength(2);
  await end('1 a');
  expect(started).toHaveLength(2);
});

test('what is stored is found at the start, and what fails is told and tried again', async () => {
  const { started } = opened(1, 1, tasks('7 lost'));
  await pause(20);
  expect(started).toEqual(['7 lost']);

  const queue = new EmbeddedQueue({ attempts: 2, backoffMs: 1 });
  const jobs = new ProjectJobs({ queue, name: 'jobs', concurrency: 1, projectConcurrency: 1 });
  const failures: unknown[] = [];
  let runs = 0;
  jobs.start({
    run: async () => {
      if (++runs === 1) throw new Error('away');
      return undefined;
    },
    pendingTasks: async () => [],
    onFailure: (error) => failures.push(error),
  });
  jobs.wake(tasks('1 a'));
  await queue.idle('jobs');
  expect({ runs, failures }).toMatchObject({ runs: 2, failures: [{ message: 'away' }] });
  await jobs.stop();
  await queue.close();
});

test('after a stop no task begins', async () => {
  const { jobs, started, endAll } = opened(1, 1);
  jobs.wake(tasks('1 a', '2 a'));
  await pause(10);
  const stopped = jobs.stop();
  endAll();
  await stopped;
  await pause(20);
  expect(started).toEqual(['1 a']);
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

test('a target is down when it accepts nothing; what it refuses three times is given up', () => {
  const results = new DeliveryResults(7, 1000);
  const notification = (position: number, attempts = 0): Notification => ({
    ...{ position, item: 0, at: 0, name: 'created', iid: position, attempts, next_ms: 0, version: 1 },
  });
  const answer = (status: number) => ({
    ...{ at: 5, status, milliseconds: 1, retryAfterMs: 0, fault: status === 200 ? '' : `${status}` },
  });
  results.add(notification(1, 2), answer(404));
  results.add(notification(2), answer(503));
  expect(results).toMatchObject({ isDown: true, failuresInARow: 2 });
  results.add(notification(3), answer(200));
  expect(results).toMatchObject({ isDown: false, failuresInARow: 0 });
  expect(results.open.map(({ position, attempts }) => [position, attempts])).toEqual([[2, 1]]);
  expect(results.done.map(({ position }) => position)).toEqual([1, 3]);
  expect(results.attempts.map(({ delivery, given_up }) => [delivery, given_up])).toEqual([
    ['7-1-1-created', true],
    ['7-2-2-created', false],
    ['7-3-3-created', false],
  ]);
});
