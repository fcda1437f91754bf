import { defineConfig } from 'vitest/config';

// chDB is one engine per process, so test files run in forked processes, never in threads.
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    include: ['test/**/*.test.ts'],
    env: { UV_THREADPOOL_SIZE: '16', TZ: 'UTC' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
