import { readFileSync } from 'node:fs';
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ingestAndCompute } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type Person, Service, type Source } from '../alerts/service.ts';
import { canRunSchemathesis, fuzz } from './schemathesis.ts';

/** `FUZZ_EXAMPLES=500 FUZZ_SEED=7` makes it a long run. */
const { FUZZ_EXAMPLES = '3', FUZZ_SEED = '1' } = process.env;
const canFuzz = canRunSchemathesis();

/**
 * A request that found a fault once. `{project}` and the like stand for what the server under test has, and `x{*200}`
 * for 200 times x.
 */
interface Found {
  readonly fault: string;
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
  readonly type: string;
  /** A part of the body. */
  readonly says?: string;
}

const corpus = readFileSync(new URL('../../fixtures/fuzz/requests.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Found);

let service: Service;
let ann: Person;
let project: number;
let source: Source;
beforeAll(async () => {
  service = await Service.open({ OAUTH_PER_MINUTE: '0', FAILED_KEYS_PER_MINUTE: '0' });
  await ingestAndCompute(service.pipeline, [...recordedLines('blocks'), ...recordedLines('runtime')]);
  ann = await service.person('ann');
  project = await service.project(ann);
  source = await service.source(ann, project);
  await service.send(source, { title: 'The disk is full' });
});
afterAll(() => service?.close());

describe('a request that found a fault once', () => {
  test.each(corpus)(
    '$method $url: $fault',
    async ({ method, url, headers, body, status, type, says = '' }) => {
      const filled = (text: string) =>
        text
          .replaceAll('{project}', String(project))
          .replaceAll('{endpoint}', source.id)
          .replaceAll('{token}', ann.token)
          .replaceAll('{key}', source.key)
          .replace(/(.)\{\*(\d+)\}/g, (_all, sign: string, times: string) => sign.repeat(Number(times)));
      const answer = await service.app.inject({
        method: method as 'GET',
        url: filled(url),
        headers: Object.fromEntries(
          Object.entries(headers ?? {}).map(([name, value]) => [name, filled(value)]),
        ),
        ...(body === undefined ? {} : { payload: filled(body) }),
      } satisfies InjectOptions);
      expect(answer.statusCode, answer.body.slice(0, 500)).toBe(status);
      expect(answer.body).toContain(says);
      expect(String(answer.headers['content-type'])).toContain(type);
    },
  );
});

/** These would take away what the others act on. */
const ENDING = ['deleteProjectsId', 'deleteProjectsIdIntegrationsIntegrationId'];

test.runIf(canFuzz)(
  'every operation of the OpenAPI document answers generated requests as the document says',
  async () => {
    using directory = temporaryDirectory();
    const origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const { requests, operations, found } = await fuzz({
      origin,
      examples: Number(FUZZ_EXAMPLES),
      seed: Number(FUZZ_SEED),
      folder: directory.path,
      without: ENDING,
      config: `
[headers]
Authorization = "Bearer ${ann.token}"
[parameters]
"path.id" = ${project}
"path.alert_iid" = 1
"path.integration_id" = "${source.id}"
"path.endpoint" = "${source.id}"
[[operations]]
include-path-regex = "^/alerts/"
headers = { Authorization = "Bearer ${source.key}" }
`,
    });
    expect(found).toBe('');
    expect(operations).toBeGreaterThan(90);
    expect(requests).toBeGreaterThan(1000);
  },
  3_600_000,
);
