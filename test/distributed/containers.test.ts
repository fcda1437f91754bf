import { execFile } from 'node:child_process';
import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { pause, until } from '../infra/ports/opened.ts';
import { type Content, contentOf, differences } from '../support/content.ts';
import { joinPipeline } from '../support/distributed.ts';
import { ingestLines, openTestPipeline } from '../support/pipeline.ts';
import { recordedLines } from '../support/recordings.ts';
import { docker, engine, OWNED } from '../support/services/container.ts';
import { type Services, startServices } from '../support/services/index.ts';
import { freePort } from '../support/services/service.ts';

// The image that infra/Dockerfile makes of this tree, on Kafka, Redis and ClickHouse in containers of their own.
const MAKE = fileURLToPath(new URL('../support/images/make', import.meta.url));
const SAMPLE = fileURLToPath(new URL('../../ingest/sample', import.meta.url));
const { NODE_IMAGE = 'node:24-bookworm-slim' } = process.env;
const MEGABYTE = 1_000_000;

const lines = recordedLines('runtime').filter((_, i) => i % 4 === 0);
let services: Services;
let environment: Record<string, string>;
let image: string;
let product: string;
let operator: Pipeline;
let expected: Content;

/** What one process of the embedded profile makes of the sample and the lines. */
async function cleanRun(): Promise<Content> {
  await using clean = await openTestPipeline();
  const { aggregator } = clean.pipeline;
  await aggregator.pauseComputation(async () => {
    for (const name of readdirSync(SAMPLE)) {
      await clean.pipeline.ingest(createReadStream(join(SAMPLE, name)), { name });
    }
    await ingestLines(clean.pipeline, lines);
  });
  await aggregator.waitUntilComputed();
  return await contentOf(clean.pipeline);
}

async function imageOfThisTree(): Promise<string> {
  const { stdout } = await promisify(execFile)(MAKE, ['product'], { env: { ...process.env, NODE_IMAGE } });
  return stdout.trim().replace('CHAIN_METRICS_IMAGE=', '');
}

const stateOf = async (format: string) => docker('inspect', '--format', format, product);

beforeAll(async () => {
  await engine();
  expected = await cleanRun();
  [services, image] = await Promise.all([startServices(), imageOfThisTree()]);
  const port = String(await freePort());
  environment = services.environment({ HOST: '127.0.0.1', PORT: port });
  const variables = Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  product = await docker(
    'run', '--detach', ...OWNED, '--network', 'host', '--init', '--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL',
    '--security-opt', 'no-new-privileges:true', ...variables, image,
  ); // biome-ignore format: one command
  operator = await joinPipeline(environment, 'ingest');
}, 300_000);
afterAll(async () => {
  await operator?.close();
  if (product) await docker('rm', '--force', '--volumes', product);
  await services?.close();
});

test('Kafka, Redis and ClickHouse are containers', () => {
  const kinds = [services.kafka, services.redis, services.clickhouse].map(({ kind }) => kind);
  expect(kinds).toEqual(['container', 'container', 'container']);
});

describe('the image of the product', () => {
  test('is small, and runs as a user without rights', async () => {
    const [all = 0, base = 0] = (await docker('image', 'inspect', '--format', '{{.Size}}', image, NODE_IMAGE))
      .split('\n')
      .map(Number);
    expect((all - base) / MEGABYTE).toBeLessThan(75);
    expect(await docker('exec', product, 'id', '--user')).toBe('1000');
  });

  test('is healthy when it serves, with nothing that it may write to but its data', async () => {
    await until('it is healthy', async () => {
      await pause(500);
      return (await stateOf('{{.State.Health.Status}}')) === 'healthy';
    }, 60_000); // biome-ignore format: as one reads it
    expect((await fetch(`http://127.0.0.1:${environment.PORT}/health/ready`)).status).toBe(200);
  });

  test('takes in the sample by its command line, and serves it', async () => {
    const said = await docker('exec', product, 'chain-metrics', 'ingest', 'ingest/sample');
    expect(said).toContain('metrics included');
    await until('it is served', async () => {
      await pause(200);
      const answer = await fetch(`http://127.0.0.1:${environment.PORT}/api/daily-tps?relay_chain=polkadot`);
      return (await answer.text()).includes('"num_blocks":1');
    }); // biome-ignore format: as one reads it
  });

  test('goes on by itself while each service is killed and started again, to the rows that one process makes', async () => {
    for (const [i, service] of [services.kafka, services.redis, services.clickhouse].entries()) {
      await ingestLines(operator, lines.filter((_, at) => at % 3 === i)); // biome-ignore format: one portion
      await service.stop();
      await service.start();
    }
    await operator.waitUntilComputed();
    expect(differences(await contentOf(operator), expected)).toEqual([]);
    expect(await stateOf('{{.RestartCount}} {{.State.Running}}')).toBe('0 true');
  });

  test('ends with 0 when it is stopped', async () => {
    await docker('stop', '--time', '30', product);
    expect(await stateOf('{{.State.ExitCode}}')).toBe('0');
  });
});
