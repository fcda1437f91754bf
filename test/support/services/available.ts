import { spawnSync } from 'node:child_process';
import { groups } from '../groups.ts';

/** Tests that need the services in containers, and the product too. */
const IN_CONTAINERS = ['test/distributed/containers.test.ts'];
/** ClickHouse alone always starts: without a container it is the interface over the embedded engine. */
const CLICKHOUSE_ALONE = ['test/infra/distributed/clickhouse.test.ts'];
const ON_SERVICES = groups.services.filter((path) => ![...IN_CONTAINERS, ...CLICKHOUSE_ALONE].includes(path));

/** A busy machine starts Java slowly. */
const ANSWER_MS_MAX = 60_000;
const has = (command: string, ...args: string[]) =>
  spawnSync(command, args, { timeout: ANSWER_MS_MAX }).status === 0;

/** Programs that are missing for real services on this machine. */
function missingPrograms(): string[] {
  const wanted: Record<string, readonly string[]> = {
    java: ['-version'],
    mvn: ['-version'],
    'redis-server': ['--version'],
    kcat: ['-V'],
  };
  return Object.entries(wanted).flatMap(([program, args]) => (has(program, ...args) ? [] : [program]));
}

/** Files to leave out on a machine without these services, said aloud; where `CI` is set nothing is left out. */
export function leftOut(): string[] {
  if (process.env.CI || has('docker', 'info')) return [];
  const missing = missingPrograms();
  const files = [...IN_CONTAINERS, ...(missing.length > 0 ? ON_SERVICES : [])];
  process.stderr.write(
    `\n!! NOT RUN, since no Docker engine answers${missing.length > 0 ? ` and there is no ${missing.join(', ')}` : ''}:\n` +
      `!!   ${files.join('\n!!   ')}\n` +
      `!! Start Docker${missing.length > 0 ? ', or for all but the first: apt-get install default-jre-headless maven redis-server kcat' : ''}\n\n`,
  );
  return files;
}
