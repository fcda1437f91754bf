import type { InfraSettings } from '../config/settings.ts';
import type { Logger } from '../logger.ts';
import type { KafkaClient } from './kafka-client.ts';
import { KafkajsClient } from './kafkajs/client.ts';

/** The client that KAFKA_CLIENT names; the other one is not loaded. */
export async function openKafkaClient(config: InfraSettings, logger: Logger): Promise<KafkaClient> {
  if (config.KAFKA_CLIENT === 'kafkajs') return new KafkajsClient(config, logger);
  const { PlatformaticClient } = await import('./platformatic/client.ts');
  return new PlatformaticClient(config, logger);
}
