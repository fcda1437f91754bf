import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { firing, prometheusBody } from './made.ts';

const BIN = fileURLToPath(new URL('../../../serve/chain-metrics', import.meta.url));
const HEAD = {
  kind: 'delivery' as const,
  project: 7,
  integration: 'i1',
  endpoint: 'prometheus' as const,
  mapping: null,
  sender_rules: null,
  heartbeat_matchers: '',
  groups_by_payload: true,
  idempotency_key: '',
};

async function withAlerts<T>(
  path: string,
  settings: Record<string, string>,
  work: (pipeline: Pipeline, send: (body: unknown) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const pipeline = await openPipeline(readConfig({ DATA_DIR: path, ...settings }));
  try {
    const alerts = await pipeline.alerts();
    const send = (payload: unknown) => {
      const body = Buffer.from(JSON.stringify(payload));
      return alerts.deliver(HEAD, body, alerts.parse(HEAD, body));
    };
    return await work(pipeline, send);
  } finally {
    await pipeline.close();
  }
}

const stateOf = (pipeline: Pipeline) =>
  pipeline.runtime.store.rows(
    sql`SELECT iid, title, status, events, position FROM chain_metrics.alerts FINAL ORDER BY iid`,
  );

describe('replay', () => {
  test('reports what a changed rule would have given, applies it, and changes nothing the second time', async () => {
    using directory = temporaryDirectory();
    const { path } = directory;
    const body = prometheusBody([firing()]);
    const counted = await withAlerts(path, { ALERT_RETRY_WINDOW_SECONDS: '0' }, async (pipeline, send) => {
      for (let i = 0; i < 5; i++) await send(body);
      const alerts = await pipeline.alerts();
      await alerts.applyAction({ project: 7, iid: 1, by: '3', change: { status: 'acknowledged' } });
      await send(prometheusBody([firing({ status: 'resolved' })]));
      await send(prometheusBody([firing({ startsAt: '2026-11-22T00:00:00Z' })]));
      await alerts.waitUntilWritten();
      return stateOf(pipeline);
    });
    expect(counted).toMatchObject([
      { iid: 1, status: 'resolved', events: 5 },
      { iid: 2, status: 'triggered', events: 1 },
    ]);

    const run = (window: string, ...args: string[]) => {
      const { stdout, stderr, status } = spawnSync(BIN, ['alerts', 'replay', ...args], {
        env: { ...process.env, DATA_DIR: path, ALERT_RETRY_WINDOW_SECONDS: window, UV_THREADPOOL_SIZE: '16' },
        encoding: 'utf8',
      });
      expect(stderr).toBe('');
      expect(status).toBe(0);
      return stdout;
    };
    const report = run('60', '--dry-run', '--project', '7');
    expect(report).toContain('1 alert would change');
    expect(report).toContain('#1 events: 5 → 1');
    expect(report).toContain('project 7: 8 events, 2 alerts');
    expect(JSON.parse(run('0', '--dry-run', '--json'))).toMatchObject([{ project: 7, differing: 0 }]);

    await withAlerts(path, {}, async (pipeline, send) => {
      const alerts = await pipeline.alerts();
      const order = { projects: [7], dryRun: false };
      expect(await alerts.replay(order)).toMatchObject([{ differing: 1 }]);
      expect(await alerts.replay(order)).toMatchObject([{ differing: 0 }]);
      expect(await stateOf(pipeline)).toMatchObject([
        { iid: 1, status: 'resolved', events: 1 },
        { iid: 2, status: 'triggered', events: 1 },
      ]);
      const next = prometheusBody([firing({ fingerprint: '6a8eb6396d3b0d47' })]);
      expect(await send(next)).toMatchObject({ created: [{ iid: 3 }] });
    });
  });

  test('leaves alerts their numbers and the actions of their users, and gives no number to another alert', async () => {
    using directory = temporaryDirectory();
    const pipeline = await openPipeline(
      readConfig({ DATA_DIR: directory.path, ALERT_RETRY_WINDOW_SECONDS: '0' }),
    );
    try {
      const alerts = await pipeline.alerts();
      const send = (payload: unknown) => {
        const body = Buffer.from(JSON.stringify(payload));
        return alerts.deliver(HEAD, body, alerts.parse(HEAD, body));
      };
      const item = (status: string) => prometheusBody([firing({ status })]);
      await send(item('firing'));
      await send(item('resolved'));
      await send(item('firing'));
      await send({ title: 'other' });
      await alerts.applyAction({ project: 7, iid: 3, by: '3', change: { status: 'ignored' } });
      await alerts.waitUntilWritten();
      expect(await stateOf(pipeline)).toHaveLength(3);
    } finally {
      await pipeline.close();
    }
    const merged = [
      { iid: 1, status: 'resolved' },
      { iid: 3, title: 'other', status: 'ignored' },
    ];
    await withAlerts(directory.path, { ALERT_RETRY_WINDOW_SECONDS: '3600' }, async (pipeline) => {
      const [result] = await (await pipeline.alerts()).replay({ projects: [], dryRun: false });
      expect(result).toMatchObject({ project: 7, alerts: 2 });
      expect(await stateOf(pipeline)).toMatchObject(merged);
      await pipeline.runtime.store.run('TRUNCATE TABLE chain_metrics.alerts SYNC');
    });
    // What a killed process left is made from the events alike.
    await withAlerts(directory.path, { ALERT_RETRY_WINDOW_SECONDS: '0' }, async (pipeline, send) => {
      expect(await stateOf(pipeline)).toMatchObject(merged);
      await (await pipeline.alerts()).replay({ projects: [], dryRun: false });
      const [first, ...others] = merged;
      const split = { iid: 4, status: 'triggered' };
      expect(await stateOf(pipeline)).toMatchObject([first, ...others, split]);
      expect(await send({ title: 'newest' })).toMatchObject({ created: [{ iid: 5 }] });
    });
  });

  test('gives the number of an alert that it removes to no other one', async () => {
    using directory = temporaryDirectory();
    const item = (status: string) => prometheusBody([firing({ status })]);
    await withAlerts(directory.path, { ALERT_RETRY_WINDOW_SECONDS: '0' }, async (_pipeline, send) => {
      for (const status of ['firing', 'resolved', 'firing']) await send(item(status));
    });
    await withAlerts(directory.path, { ALERT_RETRY_WINDOW_SECONDS: '3600' }, async (pipeline) => {
      const [result] = await (await pipeline.alerts()).replay({ projects: [], dryRun: false });
      expect(result).toMatchObject({ alerts: 1 });
    });
    await withAlerts(directory.path, {}, async (_pipeline, send) =>
      expect(await send({ title: 'newest' })).toMatchObject({ created: [{ iid: 3 }] }),
    );
  });

  test('lost alerts are rebuilt from the events at the next start', async () => {
    using directory = temporaryDirectory();
    const before = await withAlerts(directory.path, {}, async (pipeline, send) => {
      for (let i = 0; i < 30; i++)
        await send({ title: `t ${i % 7}`, ...(i % 5 === 4 ? { end_time: '2026-11-21' } : {}) });
      await (await pipeline.alerts()).waitUntilWritten();
      const rows = await stateOf(pipeline);
      await pipeline.runtime.store.run('TRUNCATE TABLE chain_metrics.alerts SYNC');
      return rows;
    });
    await withAlerts(directory.path, {}, async (pipeline) => expect(await stateOf(pipeline)).toEqual(before));
  });
});
