import type { Kafka } from 'kafkajs';
import { expect, test, vi } from 'vitest';
import { KafkajsConsumer } from '../../../infra/distributed/kafkajs-consumer.ts';
import { openLogger } from '../../../infra/logger.ts';

test('a consumer that is stopped while it connects joins no group', async () => {
  const connected = Promise.withResolvers<void>();
  const kafka = {
    on: vi.fn(),
    events: {},
    connect: () => connected.promise,
    subscribe: async () => undefined,
    run: vi.fn(async () => undefined),
    stop: async () => undefined,
    disconnect: vi.fn(async () => undefined),
  };
  const consumer = new KafkajsConsumer({
    kafka: { consumer: () => kafka } as unknown as Kafka,
    logger: openLogger({ LOG_LEVEL: 'silent' }),
    ...{ topic: 'blocks', groupId: 'load', fetchBytes: 1, sessionMs: 1000 },
  });
  const started = consumer.start(async () => undefined);
  await consumer.stop();
  await consumer.disconnect();
  connected.resolve();
  await started;
  expect(kafka.run).not.toHaveBeenCalled();
  expect(kafka.disconnect).toHaveBeenCalledTimes(2);
});
