import { expect, test } from 'vitest';
import type { KafkaProducer } from '../../../infra/distributed/kafka-client.ts';
import { SelfReplacingProducer } from '../../../infra/distributed/self-replacing-producer.ts';
import { openLogger } from '../../../infra/logger.ts';

const message = { key: 'a', value: Buffer.from('1') };

/** A broker that knows some producers, and what it took of which one. */
class Broker {
  readonly taken: string[] = [];
  made = 0;
  isAway = false;
  readonly known = new Set<number>();

  producer(): KafkaProducer {
    const id = ++this.made;
    let isConnected = false;
    return {
      connect: async () => {
        if (this.isAway) throw new Error('connect ECONNREFUSED');
        isConnected = true;
        this.known.add(id);
      },
      send: async (topic) => {
        // As kafkajs does, whose producer does not connect by itself.
        if (!isConnected) throw new Error('The producer is disconnected');
        await new Promise(setImmediate);
        if (!isConnected) throw new Error('The producer is disconnected');
        if (!this.known.has(id)) throw new Error('UNKNOWN_PRODUCER_ID');
        this.taken.push(`${topic} by ${id}`);
        return String(this.taken.length - 1);
      },
      disconnect: async () => {
        isConnected = false;
      },
    };
  }
}

async function connected(): Promise<[Broker, SelfReplacingProducer]> {
  const broker = new Broker();
  const producer = new SelfReplacingProducer(broker, openLogger({ LOG_LEVEL: 'silent' }));
  await producer.connect();
  return [broker, producer];
}

test('a producer that the brokers do not know any more is replaced', async () => {
  const [broker, producer] = await connected();
  await producer.send('blocks', [message]);
  broker.known.clear();
  expect(await producer.send('blocks', [message])).toBe('1');
  expect(broker.taken).toEqual(['blocks by 1', 'blocks by 2']);
});

test('where the brokers are away when it is replaced, a later message goes to the new one', async () => {
  const [broker, producer] = await connected();
  broker.known.clear();
  broker.isAway = true;
  const refused = { code: 'store_failed', message: 'Kafka did not accept messages of the topic blocks' };
  await expect(producer.send('blocks', [message])).rejects.toMatchObject(refused);
  await expect(producer.send('blocks', [message])).rejects.toMatchObject(refused);
  broker.isAway = false;
  await producer.send('blocks', [message]);
  expect(broker.taken).toEqual(['blocks by 2']);
});

test('messages that fail together replace it once, and all are sent', async () => {
  const [broker, producer] = await connected();
  broker.known.clear();
  await Promise.all([producer.send('blocks', [message]), producer.send('alerts', [message])]);
  expect(broker.taken.toSorted()).toEqual(['alerts by 2', 'blocks by 2']);
});
