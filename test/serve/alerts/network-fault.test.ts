import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { expect, it } from 'vitest';
import { networkFault } from '../../../serve/alerts/http-client/network-fault.ts';
import { post, TargetConnections } from '../../../serve/alerts/http-client/post.ts';

async function faultOf(url: string): Promise<string> {
  const connections = new TargetConnections(url, { allowsPrivate: true });
  try {
    await post(connections, { headers: {}, body: '{}' });
    return 'none';
  } catch (error) {
    return networkFault(error, 10_000);
  } finally {
    connections.close();
  }
}

const listening = (server: Server) =>
  new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  );

it('says in words why a receiver was not reached', async () => {
  const server = createServer((socket) => socket.destroy());
  const port = await listening(server);
  expect(await faultOf(`http://127.0.0.1:${port}`)).toBe(
    'the connection was closed before an answer came (ECONNRESET)',
  );
  await new Promise((done) => server.close(done));
  expect(await faultOf(`http://127.0.0.1:${port}`)).toBe(
    'nothing listens at this address and port (ECONNREFUSED)',
  );
  expect(networkFault(new DOMException('The operation was aborted', 'TimeoutError'), 10_000)).toBe(
    'no answer within 10 s',
  );
  expect(networkFault(new Error('another\n fault'), 10_000)).toBe('another fault');
});

it('says that a receiver speaks no TLS', async () => {
  const server = createHttpServer((_, response) => response.end());
  const port = await listening(server);
  expect(await faultOf(`https://127.0.0.1:${port}`)).toBe(
    'it does not speak TLS there; compare https with http (EPROTO)',
  );
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});
