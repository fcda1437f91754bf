import type { ClickHouseClient } from '@clickhouse/client';
import { expect, it } from 'vitest';
import { Connections } from '../../../infra/embedded/connections.ts';

it('opens no connection any more when the store is closed while one that failed is replaced', async () => {
  const replaced = Promise.withResolvers<void>();
  let opened = 0;
  const connect = () => {
    opened++;
    return { command: async () => undefined, close: () => replaced.promise } as unknown as ClickHouseClient;
  };
  const connections = new Connections(connect, 1, []);
  const failed = connections.use(async () => {
    throw new Error('a query failed');
  });
  await new Promise((later) => setImmediate(later));
  const closed = connections.close();
  replaced.resolve();
  await expect(failed).rejects.toThrow('a query failed');
  await closed;
  expect(opened).toBe(1);
  await expect(connections.use(async () => 1)).rejects.toThrow('the store is closed');
});
