import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../serve/http/app.ts';
import { addressKey, clientAddress } from '../../../serve/http/client-address.ts';
import { readConfig } from '../../../serve/settings/settings.ts';

/** A server that answers what it knows of its caller. */
async function anApp(TRUST_PROXY: string): Promise<FastifyInstance> {
  const config = readConfig({ TRUST_PROXY, LOG_LEVEL: 'silent' });
  const app = await createApp(config, ({ url }) => url ?? '/');
  app.get('/', async (request) => ({ address: clientAddress(request), counted: addressKey(request) }));
  onTestFinished(() => app.close());
  return app;
}

describe("the caller's address", () => {
  it.each([
    // What is trusted, the peer of the connection, X-Forwarded-For, the caller, what limits count.
    ['false', '192.0.2.1', '203.0.113.5', '192.0.2.1', '192.0.2.1'],
    ['1', '192.0.2.1', '203.0.113.5', '203.0.113.5', '203.0.113.5'],
    ['1', '192.0.2.1', '198.51.100.1, 203.0.113.5', '203.0.113.5', '203.0.113.5'],
    ['1', '192.0.2.1', '198.51.100.1,203.0.113.5 , ', '203.0.113.5', '203.0.113.5'],
    ['1', '192.0.2.1', '', '192.0.2.1', '192.0.2.1'],
    ['1', '192.0.2.1', 'an invented name', '192.0.2.1', '192.0.2.1'],
    ['1', '192.0.2.1', '1', '192.0.2.1', '192.0.2.1'],
    ['1', '192.0.2.1', '0x7f.1', '192.0.2.1', '192.0.2.1'],
    ['1', '192.0.2.1', '203.0.113.5:4711', '203.0.113.5', '203.0.113.5'],
    ['1', '192.0.2.1', '[2001:db8::7]:4711', '2001:db8::7', '2001:db8::/64'],
    ['2', '192.0.2.1', '198.51.100.1, 203.0.113.5, 192.0.2.9', '203.0.113.5', '203.0.113.5'],
    ['2', '192.0.2.1', '203.0.113.5, name', '203.0.113.5', '203.0.113.5'],
    ['loopback', '192.0.2.1', '203.0.113.5', '192.0.2.1', '192.0.2.1'],
    ['loopback', '127.0.0.1', '198.51.100.1, 203.0.113.5', '203.0.113.5', '203.0.113.5'],
    ['loopback', '::1', '203.0.113.5', '203.0.113.5', '203.0.113.5'],
    ['loopback', '::ffff:127.0.0.1', '203.0.113.5', '203.0.113.5', '203.0.113.5'],
    ['loopback,10.0.0.0/8', '127.0.0.1', '198.51.100.1, 203.0.113.5, 10.1.2.3', '203.0.113.5', '203.0.113.5'],
    ['loopback,10.0.0.0/8', '127.0.0.1', '203.0.113.5, name, 10.1.2.3', '10.1.2.3', '10.1.2.3'],
    [
      '2001:db8:aa::/48',
      '2001:db8:aa::1',
      '2001:db8:bb:cc:1:2:3:4',
      '2001:db8:bb:cc:1:2:3:4',
      '2001:db8:bb:cc::/64',
    ],
    ['false', '::ffff:192.0.2.1', '', '192.0.2.1', '192.0.2.1'],
    ['false', 'fe80::1%eth0', '', 'fe80::1', 'fe80::/64'],
  ])(
    'with TRUST_PROXY=%s, from %s that forwards "%s", is %s',
    async (trusted, remoteAddress, forwarded, address, counted) => {
      const app = await anApp(trusted);
      const headers = forwarded === '' ? {} : { 'x-forwarded-for': forwarded };
      expect((await app.inject({ url: '/', remoteAddress, headers })).json()).toEqual({ address, counted });
    },
  );
});

describe('the Host header', () => {
  const ask = async (lines: readonly string[], url = '/'): Promise<string> => {
    const app = await anApp('false');
    await app.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect((app.server.address() as { port: number }).port, '127.0.0.1');
    await once(socket, 'connect');
    socket.end(`GET ${url} HTTP/1.1\r\n${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
    return (await text(socket)).split('\r\n', 1)[0] ?? '';
  };

  it.each([['a.example'], ['a.example:3000'], ['[2001:db8::1]:3000'], ['192.0.2.1'], ['']])(
    '"%s" is accepted',
    async (host) => {
      expect(await ask([`Host: ${host}`])).toBe('HTTP/1.1 200 OK');
    },
  );

  it.each([
    [['Host: a.example', 'Host: b.example']],
    [['Host: a.example', 'hOST: a.example']],
    [['Host: a.example, b.example']],
    [['Host: a.example/path']],
    [['Host: user@a.example']],
    [['Host: a example']],
    [['Host: a.example:80:80']],
    [['X-Other: 1']],
  ])('is one, and a host: %j is 400', async (lines) => {
    expect(await ask(lines)).toBe('HTTP/1.1 400 Bad Request');
    expect(await ask(lines, '/nowhere')).toBe('HTTP/1.1 400 Bad Request');
  });
});
