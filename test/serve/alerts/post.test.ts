import type { lookup } from 'node:dns';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireHttpUrl } from '../../../serve/alerts/http-client/http-url.ts';
import { post, TargetConnections } from '../../../serve/alerts/http-client/post.ts';

let server: Server;
let port: number;
/** Paths of the requests that arrived. */
let arrived: string[] = [];
beforeAll(async () => {
  server = createServer((request, reply) => {
    arrived.push(request.url ?? '');
    const location = `http://127.0.0.1:${port}/private`;
    const retryAfter = request.url === '/dated' ? new Date(Date.now() + 60_000).toUTCString() : '7';
    reply.writeHead(request.url === '/moved' ? 307 : 200, { location, 'retry-after': retryAfter }).end();
  }).listen(0);
  await once(server, 'listening');
  port = (server.address() as { port: number }).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function sent(url: string, options: Partial<ConstructorParameters<typeof TargetConnections>[1]> = {}) {
  arrived = [];
  const connections = new TargetConnections(url, { allowsPrivate: false, ...options });
  try {
    return await post(connections, { headers: {}, body: '{}' });
  } finally {
    connections.close();
  }
}

describe('a request to a URL of a member', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '017700000001',
    '2130706433',
    '0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    'localhost',
    'localhost.',
    '１２７.０.０.１',
  ])('is not sent to the private address %s, however it is written', async (host) => {
    await expect(sent(`http://${host}:${port}/`)).rejects.toThrow(/private|ENOTFOUND|EAI_AGAIN/);
    expect(arrived).toEqual([]);
  });

  test.each([
    ['a private address beside a public one', [['93.184.216.34', '127.0.0.1']]],
    ['another address at each lookup', [['127.0.0.1'], ['93.184.216.34']]],
  ])(
    'is not sent to a name that has %s: what is checked is what is connected to',
    async (_name, addresses) => {
      const answers = addresses.map((of) => of.map((address) => ({ address, family: 4 })));
      const resolve = ((_host: string, _options: object, done: (...all: unknown[]) => void) =>
        done(null, answers.shift())) as unknown as typeof lookup;
      const left = answers.length - 1;
      await expect(sent(`http://rebinding.example:${port}/`, { resolve })).rejects.toThrow(/private/);
      expect(answers).toHaveLength(left);
      expect(arrived).toEqual([]);
    },
  );

  test('is not sent again to where a redirect leads', async () => {
    expect(await sent(`http://127.0.0.1:${port}/moved`, { allowsPrivate: true })).toEqual({
      status: 307,
      retryAfterMs: 7000,
      answer: '',
    });
    expect(arrived).toEqual(['/moved']);
  });

  test('may ask for a wait until a date', async () => {
    const { retryAfterMs } = await sent(`http://127.0.0.1:${port}/dated`, { allowsPrivate: true });
    expect(retryAfterMs).toBeGreaterThan(30_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });
});

test.each([
  'http://:pw@a.example/',
  'http://user@a.example/',
  'http://user:pw@a.example/',
  'javascript:1',
  '//a',
])('the URL %s is refused', (url) => {
  expect(() => requireHttpUrl(url, 'url')).toThrow('without credentials');
});
