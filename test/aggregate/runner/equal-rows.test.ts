import { expect, it } from 'vitest';
import { contractCallsHeatmap } from '../../../aggregate/metrics/contracts/contract-calls-heatmap.ts';
import { sql } from '../../../infra/sql.ts';
import { madeBlock } from '../../ingest/made.ts';
import { ingestLines, openTestPipeline } from '../../support/pipeline.ts';

it('a window of all days writes the rows that differ, not those that are equal', async () => {
  const { pipeline, close } = await openTestPipeline();
  const { store } = pipeline.runtime;
  const { table } = contractCallsHeatmap;
  const loadDay = async (number: number, day: string) => {
    const line = JSON.stringify(madeBlock(number, [])).replace(
      /"now":"\d+"/,
      `"now":"${Date.parse(`${day}T12:00:00Z`)}"`,
    );
    await ingestLines(pipeline, [{ line, chain: 'asset-hub-polkadot' }]);
    await pipeline.aggregator.waitUntilComputed();
  };
  await loadDay(100, '2026-01-05');
  await loadDay(101, '2026-01-06');
  const [before] = await store.rows<{ version: string }>(
    sql`SELECT toString(max(one.version)) AS version FROM ${table} AS one`,
  );
  await loadDay(102, '2026-01-07');
  const days = await store.rows(sql`SELECT toString(date) AS day FROM ${table} FINAL ORDER BY date`);
  expect(days).toEqual(['2026-01-05', '2026-01-06', '2026-01-07'].map((day) => ({ day })));
  const written = await store.rows(
    sql`SELECT toString(date) AS day FROM ${table} AS one WHERE one.version > toUInt64(${before?.version ?? '0'})`,
  );
  expect(written).toEqual([{ day: '2026-01-07' }]);
  await close();
});
