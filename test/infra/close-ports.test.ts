import { expect, it } from 'vitest';
import { closePorts } from '../../infra/close-ports.ts';
import type { Runtime } from '../../infra/ports.ts';

it('closes every port, what brings work first, and then tells of the first that failed', async () => {
  const closed: string[] = [];
  const port = (name: string, fault?: string) => ({
    close: async () => {
      closed.push(name);
      if (fault) throw new Error(fault);
    },
  });
  const ports = {
    store: port('store'),
    keyValue: port('keyValue', 'Redis is away'),
    queue: port('queue'),
    log: port('log', 'Kafka is away'),
  } as unknown as Pick<Runtime, 'log' | 'queue' | 'keyValue' | 'store'>;
  await expect(closePorts(ports)).rejects.toThrow('Kafka is away');
  expect(closed).toEqual(['log', 'queue', 'keyValue', 'store']);
});
