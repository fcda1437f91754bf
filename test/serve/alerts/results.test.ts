import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeEvent } from '../../../aggregate/alerts/model/event.ts';
import type { Pipeline } from '../../../serve/application/compose/compose.ts';
import { gate } from '../../infra/ports/opened.ts';
import { openPipelineAt } from '../../support/pipeline.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { AlertProcess, storedAlerts, storedEvents, until } from './alert-process.ts';
import { SharedLog } from './shared-log.ts';

// What the process that accepted an event answers to its sender.

let directory: TemporaryDirectory;
let pipeline: Pipeline;
beforeAll(async () => {
  directory = temporaryDirectory();
  pipeline = await openPipelineAt(directory.path);
});
afterAll(async () => {
  await pipeline.close();
  directory[Symbol.dispose]();
});

let projects = 0;
const start = (log: SharedLog, settings: Record<string, string> = {}) =>
  AlertProcess.start(pipeline.runtime, log, settings);

describe('the result of a delivery', () => {
  test('stays true when the settings change before it is durable', async () => {
    const log = new SharedLog();
    const before = await start(log, {
      ALERT_TITLE_CHARACTERS: '50',
      ALERT_DEPTH_MAX: '20',
      ALERT_RETRY_WINDOW_SECONDS: '600',
    });
    before.pause();
    const project = ++projects;
    const mapping = { title: ['deep', 'er', 'name'], fingerprint: ['deep', 'id'] };
    const payload = { deep: { er: { name: 'A title of some thirty letters' }, id: 'x' } };
    const answers = [
      before.deliver(project, payload, { mapping }),
      before.deliver(project, payload, { mapping, idempotency_key: 'n' }),
      before.deliver(project, payload, { mapping, idempotency_key: 'n' }),
    ];
    await until(() => log.records.length === 3);
    void before.process(log.records);
    const created = (await Promise.all(answers)).map((result) => result.created);
    expect(created[0]).toEqual([{ iid: 1, title: 'A title of some thirty letters' }]);

    // The first process is killed here and has written nothing. The next one has other rules.
    const after = await start(log, {
      ALERT_TITLE_CHARACTERS: '10',
      ALERT_DEPTH_MAX: '1',
      ALERT_RETRY_WINDOW_SECONDS: '0',
      ALERT_IDEMPOTENCY_HOURS: '0',
    });
    await after.process(log.records);
    await after.alerts.waitUntilWritten();
    expect(await storedAlerts(pipeline.runtime.store, project)).toMatchObject([
      { iid: 1, title: 'A title of some thirty letters', events: 2 },
    ]);
    const ids = log.records.map(({ value }) => decodeEvent(value).head.id);
    expect(await storedEvents(pipeline.runtime.store, project)).toEqual(
      ids.map((id, i) => ({ id, outcomes: [['created'], ['grouped'], ['retried']][i] })),
    );
  });

  test('is found in the store when the deciding process does not pass it on', async () => {
    const log = new SharedLog();
    const [acceptor, decider] = [await start(log), await start(log)];
    const project = ++projects;
    const named = { idempotency_key: 'n' };
    const answers = [1, 2].map(() => acceptor.deliver(project, { title: 'A', fingerprint: 'a' }, named));
    await until(() => log.records.length === 2);
    await decider.process(log.records);
    // Redis is emptied before the acceptor reads it.
    for (const { value } of log.records) {
      await pipeline.runtime.keyValue.delete(`alerts/answer/${decodeEvent(value).head.id}`);
    }
    const created = [{ iid: 1, title: 'A' }];
    expect((await Promise.all(answers)).map((result) => result.created)).toEqual([created, created]);
  });

  test('that is late is an error with an idempotency key, and empty without', async () => {
    const process = await start(new SharedLog(), { ALERT_ANSWER_SECONDS_MAX: '1' });
    const project = ++projects;
    const answers = await Promise.allSettled([
      process.deliver(project, { title: 'A' }),
      process.deliver(project, { title: 'A' }, { idempotency_key: 'n' }),
    ]);
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: { created: [] } },
      { status: 'rejected', reason: { code: 'service_unreachable' } },
    ]);
  });
});

describe('a log that does not answer', () => {
  test('delays requests up to the setting, and is used again when it answers', async () => {
    const log = new SharedLog();
    const process = await start(log, { ALERT_LOG_SECONDS_MAX: '1' });
    const project = ++projects;
    const outage = gate();
    log.outage = outage.opened;
    const refusal = { code: 'service_unreachable' };
    const waiting = ['sent', 'queued'].map((title) => process.deliver(project, { title }));
    const began = performance.now();
    for (const request of waiting) await expect(request).rejects.toMatchObject(refusal);
    expect(performance.now() - began).toBeGreaterThan(900);
    const later = performance.now();
    await expect(process.deliver(project, { title: 'later' })).rejects.toMatchObject(refusal);
    expect(performance.now() - later).toBeLessThan(500);
    log.outage = undefined;
    outage.open();
    await until(() => log.records.length > 0);
    const answered = process.deliver(project, { title: 'again' });
    await until(() => log.records.at(-1)?.value.includes('again') === true);
    await process.process(log.records);
    expect((await answered).created.map(({ title }) => title)).toEqual(['again']);
  });
});
