import { expect, it, vi } from 'vitest';
import { chainDay } from '../../../aggregate/metrics/activity/chain-day.ts';
import { chainHour } from '../../../aggregate/metrics/activity/chain-hour.ts';
import { dailyTps } from '../../../aggregate/metrics/activity/daily-tps.ts';
import { uptimeHour } from '../../../aggregate/metrics/activity/uptime-hour.ts';
import { readFailedMetrics, writeFailedMetrics } from '../../../aggregate/runner/failures.ts';
import { watermarks } from '../../../aggregate/runner/ledger.ts';
import { DATABASE, sql } from '../../../infra/sql.ts';
import { openAggregating } from '../../support/aggregating.ts';
import { ingestLines } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';

const lines = recordedLines('blocks').filter(({ chain }) => chain === 'kusama');

it('a metric whose table is gone fails alone, waits for a person, and is whole after a rebuild', async () => {
  const { pipeline, aggregator, close } = await openAggregating([chainHour, chainDay, dailyTps, uptimeHour], {
    METRIC_ATTEMPTS: '1',
  });
  try {
    const { store } = pipeline.runtime;
    const blocksIn = async (table: { name: string }) => {
      const [row] = await store.rows<{ n: number }>(
        sql`SELECT sum(num_blocks) AS n FROM ${table} FINAL WHERE chain = 'kusama'`,
      );
      return Number(row?.n ?? 0);
    };
    await store.run(`RENAME TABLE ${DATABASE}.daily_tps TO ${DATABASE}.hidden`);
    await ingestLines(pipeline, lines);
    const [failure, ...others] = await aggregator.waitForFailures();
    expect(others).toEqual([]);
    expect(failure).toMatchObject({ metric: 'daily_tps', attempts: 1, next_attempt_at: null });
    expect(failure?.reason).toContain('daily_tps of kusama');
    await expect(aggregator.waitUntilComputed()).rejects.toMatchObject({ code: 'metrics_failed' });
    expect(await blocksIn(chainDay.table)).toBe(lines.length);
    const pending = await aggregator.pending();
    expect([...pending.keys()]).toEqual(['daily_tps']);
    expect(pending.get('daily_tps')?.[0]?.reason).toBe('failed');
    await store.run(`RENAME TABLE ${DATABASE}.hidden TO ${DATABASE}.daily_tps`);
    const insert = store.insert.bind(store);
    const failuresAtMarks: number[] = [];
    vi.spyOn(store, 'insert').mockImplementation(async (table, rows) => {
      const isMark = table === watermarks && rows.some((row) => row.metric === dailyTps.name);
      if (isMark) failuresAtMarks.push((await readFailedMetrics(store)).length);
      // Its failure has ended, and its mark has not moved, as after a kill between both.
      if (isMark && failuresAtMarks.length === 1) throw new Error('killed');
      return insert(table, rows);
    });
    await aggregator.rebuild([dailyTps], '2000-01-01', '2100-01-01');
    expect(await blocksIn(dailyTps.table)).toBe(lines.length);
    expect(await readFailedMetrics(store)).toEqual([]);
    expect((await aggregator.pending()).size).toBe(0);
    await aggregator.waitUntilComputed();
    expect(failuresAtMarks).toEqual([0, 0]);
  } finally {
    await close();
  }
});

it('a round that can try nothing again is followed by none', async () => {
  const { pipeline, aggregator, close } = await openAggregating([chainHour, chainDay, dailyTps]);
  try {
    await ingestLines(pipeline, lines);
    await aggregator.waitForFailures();
    const { store, queue } = pipeline.runtime;
    const at = new Date().toISOString();
    const window = { relay_chains: ['kusama'], from_day: '2024-01-01', until_day: '2024-01-02', reason: 'x' };
    const failed = { ...window, failed_since: at, tried_at: at, attempts: 1 };
    await writeFailedMetrics({ store, numbers: { take: async () => 1n } }, [
      // It waits for a person, and so does what reads it.
      { ...failed, metric: chainDay.name, next_attempt_at: null },
      { ...failed, metric: dailyTps.name, next_attempt_at: at },
      // Nothing is dirty any more.
      { ...failed, metric: chainHour.name, next_attempt_at: at },
    ]);
    const requests = vi.spyOn(queue, 'add');
    await aggregator.requestRound();
    await new Promise((later) => setTimeout(later, 2000));
    expect(requests.mock.calls.length).toBeLessThan(5);
    const left = await readFailedMetrics(store);
    expect(left.map(({ metric }) => metric)).toEqual([chainDay.name, dailyTps.name]);
  } finally {
    await close();
  }
});
