import { spawnSync } from 'node:child_process';

/** Tests that need Kafka, Redis or both. */
export const DISTRIBUTED_TESTS = [
  'test/ports/distributed.test.ts',
  'test/distributed/chaos.test.ts',
  'test/distributed/faults.test.ts',
  'test/distributed/metrics.test.ts',
  'test/distributed/processes.test.ts',
];

const has = (command: string, ...args: string[]) => spawnSync(command, args, { timeout: 5000 }).status === 0;

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
  if (process.env.CI) return [];
  const missing = missingPrograms();
  if (missing.length === 0 || has('docker', 'info')) return [];
  process.stderr.write(
    `\n!! ${DISTRIBUTED_TESTS.length} test files of the distributed profile are NOT RUN: no Docker, and no ${missing.join(', ')}.\n` +
      '!! Start Docker, or: apt-get install default-jre-headless maven redis-server kcat\n\n',
  );
  return DISTRIBUTED_TESTS;
}
