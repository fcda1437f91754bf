import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { leftOut } from './test/support/services/available.ts';

/** Files that take minutes, in the order in which they begin: what is long must not be left for the end. */
const LONG = [
  'test/exactness/',
  'test/distributed/',
  'test/serve/alerts/',
  'test/aggregate/metrics/',
  'test/ingest/sources/',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((folder) => moduleId.includes(`/${folder}`));
      return found < 0 ? LONG.length : found;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

// chDB is one engine per process, so test files run in forked processes, never in threads.
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**', ...leftOut()],
    sequence: { sequencer: LongFirst },
    env: { UV_THREADPOOL_SIZE: '16', TZ: 'UTC' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
