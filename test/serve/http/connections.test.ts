import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../../serve/http/app.ts';
import type { ConnectionSettings } from '../../../serve/http/connections.ts';
import { HttpError } from '../../../serve/http/errors.ts';
import { route } from '../../../serve/http/route.ts';

const LIMITS = {
  LOG_LEVEL: 'silent',
  TRUST_PROXY: false,
  REQUEST_SECONDS_MAX: 60,
  STALL_SECONDS_MAX: 60,
  CONNECTIONS_MAX: 100,
  CONNECTIONS_PER_ADDRESS: 100,
  EVENT_LOOP_DELAY_MS_MAX: 0,
} as const;
const HASTY = { REQUEST_SECONDS_MAX: 1, STALL_SECONDS_MAX: 1 };
const PATIENT = { timeout: 60_000 };
const TOO_LARGE = Buffer.alloc(8 * 2 ** 20, 'x');
const LONG = Buffer.alloc(64 * 2 ** 20, 'x');

let app: FastifyInstance;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

async function serve(settings: Partial<ConnectionSettings> = {}): Promise<void> {
  app = await createApp({ ...LIMITS, ...settings }, ({ url = '/' }) => url);
  app.get('/long', (_request, reply) => reply.send(LONG));
  app.post('/open', async ({ body }) => ({ body }));
  route(
    app,
    {
      method: 'POST',
      path: '/closed',
      tag: 'test',
      summary: 'Refuses everybody',
      body: z.object({ wanted: z.string() }),
      responses: {},
      authorize: async () => {
        throw new HttpError('unauthorized', 'Who are you?');
      },
    },
    () => ({}),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
}

async function open(text = ''): Promise<Socket> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
}

/** The server may reset the connection; `once` would take that for a failure. */
const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));

/** Everything that the server sends until it closes the connection. */
async function answerOf(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await closed(socket);
  return text;
}

/** The answer to a request on a connection of its own; empty when the connection is refused. */
const askAnew = async () =>
  answerOf(await open('GET /none HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n'));

const head = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

describe('a connection', () => {
  it.each([
    ['that sends nothing', ''],
    ['whose head does not end', 'GET /long HTTP/1.1\r\nhost: test\r\n'],
    ['whose body does not end', `${head('/open', 100)}{"a":`],
    ['whose body does not end, of a caller that was refused', `${head('/closed', 100)}{"a":`],
    ['whose body is too large and does not end', `${head('/open', 8 * 2 ** 20)}{"a":`],
  ])('%s is closed by the server, however often a byte follows', async (_title, text) => {
    await serve(HASTY);
    const socket = await open(text);
    const drip = setInterval(() => text !== '' && socket.write('a'), 200);
    try {
      await answerOf(socket);
    } finally {
      clearInterval(drip);
    }
  });

  it('whose body is too large gets its answer when all is sent, and takes another request', async () => {
    await serve();
    const socket = await open(head('/open', TOO_LARGE.length));
    socket.pause();
    await new Promise((resolve) => socket.write(TOO_LARGE, resolve));
    socket.end('GET /none HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n');
    const answers = answerOf(socket);
    socket.resume();
    expect((await answers).match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 404']);
  });

  it('that its caller wants closed gets the answer to a body that is too large', async () => {
    await serve();
    const socket = await open(
      head('/open', TOO_LARGE.length).replace('host: test', 'host: test\r\nconnection: close'),
    );
    const answer = answerOf(socket);
    socket.pause();
    await new Promise((resolve) => socket.write(TOO_LARGE, resolve));
    socket.resume();
    expect(await answer).toContain('HTTP/1.1 413');
  });

  it('whose chunks do not end is closed after the time of a request', async () => {
    await serve({ ...HASTY, REQUEST_SECONDS_MAX: 5 });
    const start = head('/open', 0).replace('content-length: 0', 'transfer-encoding: chunked');
    const socket = await open(start);
    const chunk = `${(2 ** 16).toString(16)}\r\n${'x'.repeat(2 ** 16)}\r\n`;
    const flood = setInterval(() => socket.writableLength < 2 ** 20 && socket.write(chunk), 5);
    try {
      expect(await answerOf(socket)).toContain('HTTP/1.1 413');
    } finally {
      clearInterval(flood);
    }
  });

  it('whose reader takes nothing is closed, and buffers a small part of the answer', async () => {
    await serve(HASTY);
    const [accepted] = await Promise.all([
      once(app.server, 'connection') as Promise<[Socket]>,
      open('GET /long HTTP/1.1\r\nhost: test\r\n\r\n').then((socket) => socket.pause()),
    ]);
    const [peer] = accepted;
    await expect.poll(() => peer.bytesWritten, PATIENT).toBeGreaterThan(0);
    expect(peer.writableLength).toBeLessThan(2 ** 20);
    await closed(peer);
    expect(peer.bytesWritten).toBeLessThan(LONG.length);
  });

  it('that reads gets the whole of a long answer with its length', async () => {
    await serve();
    const { port } = app.server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/long`);
    expect(answer.headers.get('content-length')).toBe(String(LONG.length));
    expect(Buffer.from(await answer.arrayBuffer()).equals(LONG)).toBe(true);
  });

  it('above the limit of its address is closed, and another may follow one that ended', async () => {
    await serve({ CONNECTIONS_PER_ADDRESS: 2 });
    const [first] = [await open(), await open()];
    await closed(await open());
    first?.destroy();
    await expect.poll(askAnew, PATIENT).toContain('404');
  });

  it('above the limit of its address takes the place of an idle one, and of none that asks or has not asked', async () => {
    await serve({ CONNECTIONS_PER_ADDRESS: 3 });
    const silent = await open();
    const asking = await open(`${head('/open', 100)}{"a":`);
    const idle = await open('GET /none HTTP/1.1\r\nhost: test\r\n\r\n');
    await once(idle, 'data');
    const gone = closed(idle);
    expect(await askAnew()).toContain('404');
    await gone;
    expect([silent.destroyed, asking.destroyed]).toEqual([false, false]);
    for (let i = 0; i < 5; i++) await expect.poll(askAnew, PATIENT).toContain('404');
  });

  it('above the limit of all takes the place of an idle one', async () => {
    await serve({ CONNECTIONS_MAX: 1 });
    const idle = await open('GET /none HTTP/1.1\r\nhost: test\r\n\r\n');
    await once(idle, 'data');
    await closed(await open());
    await expect.poll(askAnew, PATIENT).toContain('404');
  });
});

describe('what is no request', () => {
  it.each([
    [400, 'no HTTP', 'GET /api/daily-tps HTTP/1.1\r\nno header\r\n\r\n'],
    [408, 'a body that does not end', `${head('/open', 100)}{"a":`],
    [
      431,
      'a head without end',
      `GET /api/daily-tps?chain=${'a'.repeat(2 ** 20)} HTTP/1.1\r\nhost: test\r\n\r\n`,
    ],
  ])('is %i for %s, in the form of every API', async (status, _title, text) => {
    await serve(status === 408 ? HASTY : {});
    const [top = '', body = ''] = (await answerOf(await open(text))).split('\r\n\r\n');
    expect(top).toMatch(new RegExp(`^HTTP/1.1 ${status} [A-Z]`));
    // Of a body that does not end the path may be one that pages of other origins may not read.
    expect(top.includes('\r\naccess-control-allow-origin: *\r\n')).toBe(status !== 408);
    expect(top).toContain('\r\ncontent-type: application/problem+json\r\n');
    const answer = JSON.parse(body);
    expect(answer).toMatchObject({ status, detail: expect.stringMatching(/\.$/) });
    expect([answer.error, answer.message]).toEqual([answer.title, answer.detail]);
  });

  it('is not answered within an answer to a request before it', async () => {
    await serve(HASTY);
    const socket = await open('GET /long HTTP/1.1\r\nhost: test\r\n\r\n');
    socket.once('data', () => socket.write('no request\r\n\r\n'));
    expect((await answerOf(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  });
});

describe('a caller without access', () => {
  it('is refused before its body is read', async () => {
    await serve();
    const socket = await open(head('/closed', 1000));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toContain('401 Unauthorized');
  });
});
