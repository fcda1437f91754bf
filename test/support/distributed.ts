import type { Clock } from '../../infra/ports.ts';
import { openPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import type { ProcessRole } from '../../serve/settings/process-roles.ts';
import type { TestPipeline } from './pipeline.ts';
import { startServices } from './services/index.ts';
import { testConfig } from './test-config.ts';

/** They serve every pipeline of this process, each under a prefix and in a database of its own. */
let shared: ReturnType<typeof startServices> | undefined;
let serial = 0;

/** A pipeline with all roles on services of its own; all of it is gone after `close`. */
export async function openDistributedPipeline(
  clock?: Clock,
  settings: Readonly<Record<string, string>> = {},
): Promise<TestPipeline> {
  shared ??= startServices();
  const services = await shared;
  const name = `engine${++serial}`;
  const environment = services.environment({
    KAFKA_PREFIX: `${name}.`,
    REDIS_PREFIX: name,
    CLICKHOUSE_DATABASE: name,
    ...settings,
  });
  const pipeline = await openPipeline(testConfig(environment), clock && { clock });
  const close = () => pipeline.close();
  return { pipeline, close, [Symbol.asyncDispose]: close };
}

/** The pipeline of one more process on the same services, with some roles. */
export function joinPipeline(
  environment: Record<string, string>,
  ...roles: ProcessRole[]
): Promise<Pipeline> {
  return openPipeline(testConfig(environment), { roles: new Set(roles) });
}
