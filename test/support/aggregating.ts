import type { MaterializedMetric } from '../../aggregate/metric.ts';
import { Aggregator } from '../../aggregate/runner/aggregator.ts';
import { aggregatorLimits } from '../../aggregate/settings.ts';
import { openLogger } from '../../infra/logger.ts';
import { openPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { testConfig } from './test-config.ts';

/** A pipeline that loads, beside an aggregator of a few metrics: a round of all costs some fifty windows. */
export async function openAggregating(
  metrics: readonly MaterializedMetric[],
  settings: Readonly<Record<string, string>> = {},
): Promise<{
  readonly pipeline: Pipeline;
  readonly aggregator: Aggregator;
  close(): Promise<void>;
}> {
  const directory = temporaryDirectory();
  const config = testConfig({ DATA_DIR: directory.path, ...settings });
  const pipeline = await openPipeline(config, { roles: new Set(['load'] as const) });
  const { runtime } = pipeline;
  const aggregator = new Aggregator({
    runtime,
    numbers: await runtime.openSequence(async () => 0n),
    ...aggregatorLimits(config),
    logger: openLogger({ LOG_LEVEL: 'silent' }),
    metrics,
  });
  await aggregator.start();
  return {
    pipeline,
    aggregator,
    close: async () => {
      aggregator.stop();
      await pipeline.close();
      directory[Symbol.dispose]();
    },
  };
}
