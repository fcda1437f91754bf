import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { type Group, groups } from './test/support/groups.ts';
import { reportLeftOut } from './test/support/left-out.ts';
import { useScratch } from './test/support/scratch.ts';
import { leftOut } from './test/support/services/available.ts';

/** Files that take minutes, in the order in which they begin: what is long must not be left for the end. */
const LONG = [
  'test/exactness/',
  'test/aggregate/metrics/equality',
  'test/distributed/',
  'test/infra/ports/',
  'test/serve/application/cli/',
  'test/serve/http/',
  'test/ingest/follow/role',
  'test/serve/clients/clients',
  'test/serve/guides/snippets',
  'test/serve/identity/oauth/kill',
  'test/serve/alerts/',
  'test/aggregate/metrics/',
];

/** `.ci/run` makes the images of the services meanwhile; a file that waits for them holds a worker. */
const FILES_BEFORE_SERVICES = 9;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((folder) => moduleId.includes(`/${folder}`));
      return found < 0 ? LONG.length : found;
    };
    const sorted = (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
    const { waiting = [], busy = [] } = Object.groupBy(sorted, ({ project }) =>
      project.name === 'services' ? 'waiting' : 'busy',
    );
    // Tests on services mostly wait, the others mostly compute: each fills the time of the other.
    const first = busy.splice(0, FILES_BEFORE_SERVICES);
    const mixed = busy.flatMap((file, i) => [...(i % 2 === 0 ? waiting.splice(0, 1) : []), file]);
    return [...first, ...mixed, ...waiting];
  }
}

/** `npm test` runs the first two groups, TESTS=rest the others, TESTS=all or a run that names files looks in all. */
const GROUPS: Readonly<Record<string, readonly Group[]>> = {
  core: ['unit', 'core'],
  rest: ['rest', 'services'],
  all: ['unit', 'core', 'rest', 'services'],
};
const namesFiles = process.argv.some((argument) => argument.startsWith('test/'));
const tests = namesFiles ? 'all' : (process.env.TESTS ?? 'core');
const chosen = GROUPS[tests];
if (chosen === undefined) throw new Error(`TESTS=${tests} is none of ${Object.keys(GROUPS).join(', ')}`);

useScratch();
const exclude = chosen.includes('services') ? leftOut() : [];

const project = (name: Group) => ({
  extends: true as const,
  test: {
    name,
    include: [...groups[name]],
    exclude,
    // Files take turns in a process, which costs them less than one each; those on services are left alone in theirs.
    isolate: name === 'services',
    setupFiles: name === 'services' ? ['test/support/services/images-ready.ts'] : [],
  },
});

/** Every suite that says anything of facts and metrics, unchanged, on Kafka, Redis and ClickHouse over HTTP. */
const suites = {
  extends: true as const,
  test: {
    name: 'suites',
    include: [
      'test/aggregate/metrics/**/*.test.ts',
      'test/aggregate/runner/*.test.ts',
      'test/ingest/load/load.test.ts',
      'test/ingest/refused-input.test.ts',
      'test/ingest/dead-letters/dead-letters.test.ts',
    ],
    // Of what only the engine of the embedded profile does.
    exclude: ['test/aggregate/runner/{equal-rows,large-windows,pruned}.test.ts'],
    setupFiles: ['test/support/services/images-ready.ts', 'test/distributed/profile.ts'],
  },
};

// The processes of the tests, and the command line, start in less time where their compiled files are kept.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/node', import.meta.url));

// chDB is one engine per process, so test files run in forked processes, never in threads.
export default defineConfig({
  test: {
    pool: 'forks',
    // One more than the cores that a check has, since tests on services and processes wait. A fourth gained nothing.
    maxWorkers: 3,
    projects: [...chosen.map(project), ...(process.env.SUITES === 'all' ? [suites] : [])],
    reporters: [
      'default',
      ...(tests === 'core' ? [reportLeftOut([...groups.rest, ...groups.services])] : []),
    ],
    sequence: { sequencer: LongFirst },
    env: { UV_THREADPOOL_SIZE: '16', TZ: 'UTC' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
