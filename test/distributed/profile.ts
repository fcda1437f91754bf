import { openDistributedPipeline } from '../support/distributed.ts';
import { testProfile } from '../support/pipeline.ts';

// What a test file opens from here on runs on Kafka, Redis and ClickHouse over HTTP.
testProfile.open = openDistributedPipeline;
