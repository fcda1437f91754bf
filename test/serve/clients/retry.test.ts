import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RetryPolicy, withRetries } from '../../../serve/clients/typescript/src/retry.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** The answers that the server gives, one after the other; then 200. */
let script: Answer[];
const bodies: string[] = [];
const server = createServer(async (request, response) => {
  bodies.push(await text(request));
  const answer = script.shift() ?? ((_request, last) => last.end('done'));
  answer(request, response);
});
let origin: string;

beforeEach(async () => {
  bodies.length = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const refuse =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    response.writeHead(status, headers).end('refused');
const hangUp: Answer = (request) => request.socket.destroy();
const send = (init: RequestInit = {}, policy: Partial<RetryPolicy> = {}) =>
  withRetries((request) => fetch(request), { triesMax: 4, secondsMax: 60, ...policy })(
    new Request(origin, init),
  );

describe('a request of the TypeScript client', () => {
  it('is sent again with its body when the server refuses it for now', async () => {
    const past = new Date(0).toUTCString();
    script = [refuse(429, { 'retry-after': '0' }), refuse(503, { 'retry-after': past })];
    const answer = await send({ method: 'POST', body: 'the body' });
    expect([answer.status, await answer.text()]).toEqual([200, 'done']);
    expect(bodies).toEqual(['the body', 'the body', 'the body']);
  });

  it('is sent again after a failed connection only where it changes nothing', async () => {
    script = [hangUp, hangUp];
    expect((await send()).status).toBe(200);
    expect(bodies).toHaveLength(3);
    script = [hangUp];
    await expect(send({ method: 'POST', body: 'once' })).rejects.toThrow('fetch failed');
    expect(bodies.filter((body) => body === 'once')).toHaveLength(1);
  });

  it('gets every other answer at once', async () => {
    script = [refuse(500), refuse(404)];
    expect([(await send()).status, (await send()).status]).toEqual([500, 404]);
  });

  it('gets the last refusal after the most tries', async () => {
    script = Array.from({ length: 9 }, () => refuse(503, { 'retry-after': '0' }));
    expect((await send()).status).toBe(503);
    expect(bodies).toHaveLength(4);
    script = [hangUp, hangUp];
    await expect(send({}, { triesMax: 2 })).rejects.toThrow('fetch failed');
  });

  it('does not wait longer than it may', async () => {
    script = [refuse(429, { 'retry-after': '61' })];
    const answer = await send();
    expect([answer.status, await answer.text()]).toEqual([429, 'refused']);
    expect(bodies).toHaveLength(1);
  });

  it('ends its wait when it is aborted', async () => {
    const controller = new AbortController();
    script = [
      (_request, response) => {
        response.writeHead(429, { 'retry-after': '50' }).end();
        response.once('close', () => controller.abort(new Error('no longer wanted')));
      },
    ];
    await expect(send({ signal: controller.signal })).rejects.toThrow('no longer wanted');
    expect(bodies).toHaveLength(1);
  });
});
