import { ProductError } from '../errors.ts';
import { ignore } from '../ignore.ts';
import type { Logger } from '../logger.ts';
import type { KafkaClient, KafkaProducer, OutgoingMessage } from './kafka-client.ts';
import { describeKafkaError } from './kafka-refusal.ts';

/** Errors after which a producer must be replaced. The new producer can send the same messages again. */
const PRODUCER_ERRORS =
  /OUT_OF_ORDER_SEQUENCE|UNKNOWN_PRODUCER_ID|INVALID_PRODUCER_EPOCH|INVALID_PRODUCER_ID/;

/** A producer that replaces itself once the brokers no longer know it. */
export class SelfReplacingProducer implements KafkaProducer {
  readonly #client: Pick<KafkaClient, 'producer'>;
  readonly #logger: Logger;
  #producer: KafkaProducer;
  #connected: Promise<void> | undefined;
  #isClosed = false;

  constructor(client: Pick<KafkaClient, 'producer'>, logger: Logger) {
    this.#client = client;
    this.#logger = logger;
    this.#producer = client.producer();
  }

  /** Throws if the brokers do not answer; the next call or message tries again. */
  connect(): Promise<void> {
    this.#connected ??= this.#connect();
    return this.#connected;
  }

  async send(topic: string, messages: readonly OutgoingMessage[]): Promise<string | null> {
    const producer = this.#producer;
    try {
      return await this.#send(topic, messages);
    } catch (error) {
      // Only the first of several concurrent sends replaces the producer; all retry with the new one.
      if (producer === this.#producer) await this.#replace(topic, error);
    }
    return this.#send(topic, messages).catch((error) => {
      throw notTaken(topic, error);
    });
  }

  disconnect(): Promise<void> {
    this.#isClosed = true;
    return this.#producer.disconnect();
  }

  async #connect(): Promise<void> {
    const producer = this.#producer;
    try {
      await producer.connect();
    } catch (error) {
      if (producer === this.#producer) this.#connected = undefined;
      throw error;
    }
  }

  async #send(topic: string, messages: readonly OutgoingMessage[]): Promise<string | null> {
    await this.connect();
    return this.#producer.send(topic, messages);
  }

  async #replace(topic: string, error: unknown): Promise<void> {
    const reason = describeKafkaError(error);
    if (this.#isClosed || !PRODUCER_ERRORS.test(reason)) throw notTaken(topic, error);
    this.#logger.warn({ topic, reason }, 'the producer is replaced');
    const replaced = this.#producer;
    this.#producer = this.#client.producer();
    this.#connected = undefined;
    // The brokers no longer know the old producer, and nothing waits for it.
    await replaced.disconnect().catch(ignore('kafka.producer'));
  }
}

const notTaken = (topic: string, error: unknown): ProductError =>
  new ProductError(
    'store_failed',
    `Kafka did not accept messages of the topic ${topic}`,
    describeKafkaError(error),
  );
