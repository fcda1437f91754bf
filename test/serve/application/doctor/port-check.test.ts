import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { checkPort, checkSharedPort } from '../../../../serve/application/doctor/port-check.ts';
import { serverAddress } from '../../../../serve/http/listen-address.ts';

it('tells whether a port is free or held by something', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const address = serverAddress({ HOST: '127.0.0.1', PORT: port });
  expect(await checkPort(address)).toEqual({
    check: 'port',
    state: 'failed',
    text: `PORT=${port}: the port is in use`,
    remedy: 'set PORT to a free port, or to 0 to pick one',
  });
  server.close();
  await once(server, 'close');
  expect(await checkPort(address)).toMatchObject({ state: 'ok', text: `127.0.0.1:${port} is free` });
});

it.each([
  ['a process of this product', '{"status":"ok"}', 'ok'],
  ['another program', 'hello', 'failed'],
])('beside %s (answer: %s) a shared port is %s', async (_name, body, state) => {
  const server = createHttpServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const finding = await checkSharedPort(serverAddress({ HOST: '127.0.0.1', PORT: port }));
  expect(finding).toMatchObject({ check: 'port', state });
  server.close();
});

it('tells an address that this machine does not have', async () => {
  const finding = await checkPort(serverAddress({ HOST: '192.0.2.1', PORT: 3000 }));
  expect(finding).toMatchObject({
    state: 'failed',
    text: 'HOST=192.0.2.1: this machine does not have that address',
  });
});
