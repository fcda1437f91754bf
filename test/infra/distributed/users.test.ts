import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { TABLE_RIGHTS } from '../../../infra/distributed/services-check.ts';
import { DistributedStore } from '../../../infra/distributed/store.ts';
import { sql } from '../../../infra/sql.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { documentedRights } from '../../support/clickhouse/rights.ts';

/** A server that answers nothing to everything, and keeps who asked. */
async function askedBy(settings: Record<string, string>): Promise<Record<string, string>> {
  const users: string[] = [];
  const server = createServer((request, response) => {
    const [, encoded = ''] = (request.headers.authorization ?? '').split(' ');
    users.push(Buffer.from(encoded, 'base64').toString());
    request.resume().on('end', () => response.end());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const CLICKHOUSE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const store = new DistributedStore(readConfig({ PROFILE: 'distributed', CLICKHOUSE_URL, ...settings }));
  const userOf = async (ask: () => Promise<unknown>) => {
    await ask();
    return users.at(-1) ?? '';
  };
  try {
    return {
      writer: await userOf(() => store.run('SELECT 1')),
      worker: await userOf(() => store.rows(sql`SELECT 1`)),
      reader: await userOf(() => store.rows(sql`SELECT 1`, { lane: 'readers' })),
    };
  } finally {
    await store.close();
    server.close();
  }
}

const WRITER = { CLICKHOUSE_USER: 'writer', CLICKHOUSE_PASSWORD: 'w' };

test('the queries of the API are sent as the user who may only read, all others as the one who writes', async () => {
  const both = await askedBy({ ...WRITER, CLICKHOUSE_READ_USER: 'reader', CLICKHOUSE_READ_PASSWORD: 'r' });
  expect(both).toEqual({ writer: 'writer:w', worker: 'writer:w', reader: 'reader:r' });
});

test('one user does both where no other is set', async () => {
  expect(await askedBy(WRITER)).toEqual({ writer: 'writer:w', worker: 'writer:w', reader: 'writer:w' });
});

test('a doctor asks for the rights that infra/README.md grants', () => {
  expect(documentedRights('chain_metrics').grants).toContain(
    `GRANT ${TABLE_RIGHTS.join(', ')} ON chain_metrics.*`,
  );
});
