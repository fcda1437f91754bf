import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { DistributedStore } from '../../../infra/distributed/store.ts';
import { readConfig } from '../../../serve/settings/settings.ts';

/** Connects to a server that says it is of a version; returns the error. */
async function connectTo(version: string): Promise<unknown> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(`${JSON.stringify({ version })}\n`));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const CLICKHOUSE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const store = new DistributedStore(readConfig({ PROFILE: 'distributed', CLICKHOUSE_URL }));
  try {
    return await store.connect().then(
      () => undefined,
      (error) => error,
    );
  } finally {
    await store.close();
    server.close();
  }
}

describe('a ClickHouse server', () => {
  test.each(['26.3.1.5', '26.10.2.1', '27.1.3.4'])('of version %s is used', async (version) => {
    expect(await connectTo(version)).toBeUndefined();
  });

  test.each(['26.2.9.9', '25.12.1.1', '9.8'])('of version %s is refused at once', async (version) => {
    expect(await connectTo(version)).toMatchObject({
      code: 'service_refused',
      message: `CLICKHOUSE_URL: ClickHouse ${version} is too old; 26.3 or newer is needed`,
    });
  });
});
