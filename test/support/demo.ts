import { Readable } from 'node:stream';
import { isoDay } from '../../infra/days.ts';
import { DemoHistory, firstDemoDay } from '../../ingest/demo/history.ts';
import { prepareDemo } from '../../serve/application/cli/first-data.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';

/**
 * Loads the demo data that a server would make up at this time, and computes every metric. The first days are left
 * out: a shorter history is computed sooner.
 */
export async function loadDemo(pipeline: Pipeline, now: number, daysLeftOut: number): Promise<void> {
  await prepareDemo(pipeline, () => undefined);
  const firstDay = firstDemoDay(now);
  const history = new DemoHistory({ firstDay, now, registry: pipeline.registry });
  const lines = [...history.days(isoDay(Date.parse(firstDay) + daysLeftOut * 86_400_000))].flat();
  await pipeline.aggregator.pauseComputation(async () => {
    await pipeline.ingest(Readable.from([Buffer.from(lines.join('\n'))]), { name: 'demo.ndjson' });
    await pipeline.waitUntilLoaded();
  });
  await pipeline.aggregator.waitUntilComputed();
}
