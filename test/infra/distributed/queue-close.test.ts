import { expect, test } from 'vitest';
import { DistributedQueue } from '../../../infra/distributed/queue.ts';
import { newRedis } from '../../../infra/distributed/redis.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { startRedis } from '../../support/services/redis.ts';
import { pause } from '../ports/opened.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('a queue whose Redis went away closes: its job ends, and then it waits no longer than for an answer', async () => {
  const service = await startRedis();
  const config = readConfig({ REDIS_URL: `redis://${service.host}:${service.port}` });
  const redis = newRedis(config, silent, { maxRetriesPerRequest: null, socketTimeout: 30_000 });
  await redis.connect();
  const rules = { attempts: 3, backoffMs: 50, lockMs: 5000, answerMs: 500, logger: silent };
  const queue = new DistributedQueue({ redis, prefix: 'closing', ...rules });
  const begun = Promise.withResolvers<void>();
  let isDone = false;
  await queue.process('queue', 1, async () => {
    begun.resolve();
    await pause(1500);
    isDone = true;
  });
  await queue.process('idle', 1, async () => undefined);
  await queue.add('queue', { id: 'job', data: 1 });
  await begun.promise;
  await service.close();
  const closed = queue.close().then(
    () => 'closed',
    (error: Error) => error.message,
  );
  expect(await Promise.race([closed, pause(8000)])).toBe('no answer within 500 ms');
  expect(isDone).toBe(true);
}, 20_000);
