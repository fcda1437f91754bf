import { openPipeline, type Pipeline } from '../../serve/compose.ts';
import type { ProcessRole } from '../../serve/process-roles.ts';
import { readConfig } from '../../serve/settings.ts';
import type { TestEngine } from './engine.ts';
import { startClickHouse } from './services/clickhouse.ts';
import { addresses, startServices } from './services/index.ts';

/** Kafka and Redis serve every engine of this process, under prefixes; a store has one database, so each gets its own. */
let shared: ReturnType<typeof startServices> | undefined;
let serial = 0;

/** An engine with all roles on services of its own; all of it is gone after `close`. */
export async function openDistributedEngine(): Promise<TestEngine> {
  shared ??= startServices();
  const services = await shared;
  const clickhouse = await startClickHouse();
  const name = `engine${++serial}`;
  const environment = services.environment({
    ...addresses({ ...services, clickhouse }),
    KAFKA_PREFIX: `${name}.`,
    REDIS_PREFIX: name,
  });
  const engine = await openPipeline(readConfig(environment));
  const close = async () => {
    await engine.close();
    await clickhouse.close();
  };
  return { engine, close, [Symbol.asyncDispose]: close };
}

/** One more process's worth of engine on the same services, with some roles. */
export function joinEngine(environment: Record<string, string>, ...roles: ProcessRole[]): Promise<Pipeline> {
  return openPipeline(readConfig(environment), { roles: new Set(roles) });
}
