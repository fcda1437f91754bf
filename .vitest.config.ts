import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { type Group, groups } from './test/support/groups.ts';
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

const exclude = leftOut();

// Files that do not need the engine share a process.
const project = (name: Group) => ({
  extends: true as const,
  test: { name, include: [...groups[name]], exclude, isolate: name !== 'unit' },
});

// chDB is one engine per process, so test files run in forked processes, never in threads.
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [project('unit'), project('integration'), project('services')],
    sequence: { sequencer: LongFirst },
    env: { UV_THREADPOOL_SIZE: '16', TZ: 'UTC' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
