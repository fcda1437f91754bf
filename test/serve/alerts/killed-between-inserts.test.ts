import { expect, test } from 'vitest';
import type { Runtime, Store } from '../../../infra/ports.ts';
import { openPipelineAt } from '../../support/pipeline.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { AlertProcess, storedAlerts, storedEvents, until } from './alert-process.ts';
import { SharedLog } from './shared-log.ts';

const DELIVERIES = 5;
const ITEMS = 4000;

const item = (delivery: number, index: number) => ({
  status: 'firing',
  labels: { alertname: `${delivery} ${index}` },
  annotations: {},
  startsAt: '2026-11-28T00:00:00Z',
  fingerprint: `${delivery}-${index}`,
});
const group = (delivery: number) => ({
  version: '4',
  groupKey: `group ${delivery}`,
  status: 'firing',
  receiver: 'receiver',
  groupLabels: {},
  commonLabels: {},
  commonAnnotations: {},
  externalURL: 'http://localhost',
  alerts: Array.from({ length: ITEMS }, (_, index) => item(delivery, index)),
});

/** The store of a process that dies at one of its inserts of alerts. */
function dyingAt(store: Store, insert: number): { store: Store; isDead: () => boolean } {
  let inserts = 0;
  const dying = new Proxy(store, {
    get: (target, name: keyof Store) => {
      const method = (target[name] as (...args: unknown[]) => unknown).bind(target);
      if (name !== 'insert') return method;
      return (table: { name: string }, rows: unknown) =>
        table.name === 'alerts' && ++inserts >= insert ? new Promise(() => {}) : method(table, rows);
    },
  });
  return { store: dying, isDead: () => inserts >= insert };
}

test.each([1, 2])(
  'no alert is lost by a kill at insert %i of the alerts of many deliveries',
  async (insert) => {
    using directory = temporaryDirectory();
    const pipeline = await openPipelineAt(directory.path);
    const { runtime } = pipeline;
    const log = new SharedLog();
    const { store, isDead } = dyingAt(runtime.store, insert);
    const settings = { ALERT_PENDING_BYTES_MAX: String(2 ** 30) };
    const first = await AlertProcess.start({ ...runtime, store } as Runtime, log, settings);
    const answers: ReturnType<AlertProcess['deliver']>[] = [];
    // An alert that the first and the last delivery change has the first place in a write, and the newest position.
    const payloads = [
      { title: 'again', fingerprint: 'again', n: 1 },
      ...Array.from({ length: DELIVERIES }, (_, delivery) => group(delivery)),
      { title: 'again', fingerprint: 'again', n: 2 },
    ];
    for (const [index, payload] of payloads.entries()) {
      answers.push(first.deliver(1, payload));
      await until(() => log.records.length === index + 1);
    }
    let isWritten = false;
    void first.process(log.records, () => {
      isWritten = true;
    });
    const told = (await Promise.all(answers)).flatMap(({ created }) => created.map(({ iid }) => iid));
    expect(told).toHaveLength(DELIVERIES * ITEMS + 1);
    await until(() => isWritten || isDead());

    const second = await AlertProcess.start(runtime, log, settings);
    await second.process(log.records);
    await second.alerts.waitUntilWritten();
    const stored = await storedAlerts(runtime.store, 1);
    expect(stored.map(({ iid }) => iid)).toEqual(told.toSorted((a, b) => a - b));
    expect(await storedEvents(runtime.store, 1)).toHaveLength(payloads.length);
    await pipeline.close();
  },
);
