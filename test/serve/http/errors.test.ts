import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeError } from '../../../infra/clickhouse/errors.ts';
import { createApp } from '../../../serve/http/app.ts';
import { gitlabDialect, intakeDialect, oauthDialect, problemDialect } from '../../../serve/http/dialects.ts';
import { handleErrors } from '../../../serve/http/errors.ts';
import { testConfig } from '../../support/test-config.ts';

const DIALECTS = { gitlabDialect, intakeDialect, oauthDialect, problemDialect };
const FAILURES: Record<string, Error> = {
  'takes too long': Object.assign(new Error('Timeout exceeded: SELECT 1'), { type: 'TIMEOUT_EXCEEDED' }),
  'has no memory': Object.assign(new Error('(total) SELECT 1'), { type: 'MEMORY_LIMIT_EXCEEDED' }),
  'has a full disk': Object.assign(new Error('Cannot reserve SELECT 1'), { type: 'NOT_ENOUGH_SPACE' }),
  'has a full disk below it': new Error('write: No space left on device, SELECT 1'),
};

let app: Awaited<ReturnType<typeof createApp>>;
beforeAll(async () => {
  app = await createApp(
    testConfig({ LOG_LEVEL: 'silent', EVENT_LOOP_DELAY_MS_MAX: '0' }),
    ({ url }) => url ?? '/',
  );
  for (const [dialect, one] of Object.entries(DIALECTS)) {
    await app.register(
      async (scope) => {
        handleErrors(scope, one);
        scope.get('/:failure', async ({ params }) => {
          throw storeError(FAILURES[(params as { failure: string }).failure]);
        });
      },
      { prefix: `/${dialect}` },
    );
  }
});
afterAll(() => app.close());

describe.each(Object.keys(DIALECTS))('%s', (dialect) => {
  it.each(Object.keys(FAILURES))('a store that %s is a 503 that says when to try again', async (failure) => {
    const answer = await app.inject(`/${dialect}/${encodeURIComponent(failure)}`);
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.body).not.toMatch(/SELECT/);
  });
});
