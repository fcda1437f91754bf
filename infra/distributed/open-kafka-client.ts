import type { InfraSettings } from '../config/settings.ts';
import type { Logger } from '../logger.ts';
import type { KafkaClient } from './kafka-client.ts';
import { KafkajsClient } from './kafkajs/client.ts';

export async function openKafkaClient(config: InfraSettings, logger: Logger): Promise<KafkaClient> {
  return new KafkajsClient(config, logger);
}
