/// <reference types="vite/types/importMeta.d.ts" />
import { openDistributedPipeline } from '../support/distributed.ts';
import { testProfile } from '../support/pipeline.ts';

// The suites of the embedded profile, unchanged, on Kafka, Redis and ClickHouse over HTTP. `SUITES=all` runs every
// one that says anything of facts and metrics; otherwise as many as a check has time for.
const { SUITES } = process.env;

testProfile.open = openDistributedPipeline;
if (SUITES !== 'all') process.env.INPUTS ??= 'everything recorded';
const suites =
  SUITES === 'all'
    ? import.meta.glob([
        '../aggregate/metrics/**/*.test.ts',
        '../aggregate/runner/*.test.ts',
        '../ingest/{load,refused-input}.test.ts',
        '../ingest/log/dead-letters.test.ts',
      ])
    : import.meta.glob([
        '../aggregate/metrics/hand.test.ts',
        '../aggregate/metrics/equality.test.ts',
        '../ingest/log/dead-letters.test.ts',
      ]);
for (const load of Object.values(suites)) await load();
