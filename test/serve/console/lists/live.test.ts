import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { loadRegistry } from '../../../../ingest/chains/registry.ts';
import { serveLive } from '../../../../serve/console/lists/explorer/live.ts';

it('a browser that leaves before its stream begins takes no place of those that follow', async () => {
  const app = fastify();
  const [asked, left, ended] = [0, 1, 2].map(() => Promise.withResolvers<void>()) as [
    PromiseWithResolvers<void>,
    PromiseWithResolvers<void>,
    PromiseWithResolvers<void>,
  ];
  // As while a count is waited for that servers share.
  app.addHook('onRequest', async (request) => {
    request.knownAccount = '1';
    if (!request.url.includes('leaves')) return;
    asked.resolve();
    await left.promise;
    setImmediate(ended.resolve);
  });
  const of = {
    registry: loadRegistry(),
    readers: { forAll: () => ({}) },
    records: { read: async () => ({ rows: [] }) },
    listenersMax: 1,
  };
  serveLive(app, of as unknown as Parameters<typeof serveLive>[1]);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const connected = once(app.server, 'connection');
  const browser = connect(port, '127.0.0.1');
  browser.write('GET /explorer/live?chain=polkadot&leaves HTTP/1.1\r\nhost: localhost\r\n\r\n');
  const [socket] = await connected;
  await asked.promise;
  browser.destroy();
  await once(socket, 'close');
  left.resolve();
  await ended.promise;

  const stop = new AbortController();
  const next = await fetch(`http://127.0.0.1:${port}/explorer/live?chain=polkadot`, { signal: stop.signal });
  expect(next.status).toBe(200);
  stop.abort();
  await app.close();
});
