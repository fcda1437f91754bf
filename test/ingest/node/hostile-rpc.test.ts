import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { NodeRpc, type RpcLimits } from '../../../ingest/node/rpc.ts';

const LIMITS: RpcLimits = { attempts: 3, backoffMs: 1, timeoutMs: 300, answerBytes: 100_000 };

const open: (() => unknown)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A node that answers any request with the text that `reply` makes of its ids. */
async function serve(reply: (ids: readonly number[]) => string): Promise<string> {
  const answer = (text: string) => reply([JSON.parse(text)].flat().map(({ id }) => id));
  const server = createServer(async (request, response) =>
    response.end(answer((await request.toArray()).join(''))),
  );
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket: WebSocket) => {
    socket.on('message', (data: Buffer) => socket.send(answer(data.toString())));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const call = { method: 'm', params: [] };

describe.each(['ws', 'http'])('over %s', (scheme) => {
  const ask = async (calls: number, reply: (ids: readonly number[]) => string) => {
    const rpc = new NodeRpc(`${scheme}://${await serve(reply)}/key-of-a-provider`, LIMITS);
    return rpc.batch(Array(calls).fill(call));
  };

  test.each([
    ['null', () => 'null'],
    ['a number', () => '7'],
    ['a list of null', () => '[null]'],
    ['a null among the replies', ([first = 0]: readonly number[]) => `[{"id":${first},"result":1},null]`],
    ['an error that is a text', ([id]: readonly number[]) => `{"id":${id},"error":"no key-of-a-provider"}`],
    ['an error of nothing', ([id]: readonly number[]) => `[{"id":${id},"error":{}}]`],
    ['an error without a text', ([id]: readonly number[]) => `{"id":${id},"error":{"code":1,"message":5}}`],
  ])('%s in place of replies is a failure of the node', { timeout: 20_000 }, async (_what, reply) => {
    for (const calls of [1, 2]) {
      for (const answer of await ask(calls, reply)) {
        if ('result' in answer) continue;
        expect(answer.error).toMatchObject({ name: 'ProductError' });
        expect(answer.error.message).not.toContain('key-of');
      }
    }
  });

  test('an error of null is none', async () => {
    expect(await ask(1, ([id]) => `{"id":${id},"result":5,"error":null}`)).toEqual([{ result: 5 }]);
  });

  test('a long error is cut', async () => {
    const [answer] = await ask(
      1,
      ([id]) => `{"id":${id},"error":{"code":1,"message":"${'x'.repeat(90_000)}"}}`,
    );
    expect(JSON.stringify(answer).length).toBeLessThan(1000);
    expect((answer as { error: Error }).error.message.length).toBeLessThan(1000);
  });

  test('an error without an id answers the only request', async () => {
    const [answer] = await ask(1, () => '{"id":null,"error":{"code":-32600,"message":"Invalid request"}}');
    expect(answer).toMatchObject({ error: { code: 'source_failed' } });
  });
});

test('an answer that is too large fails no other call on the same WebSocket', async () => {
  let isFirst = true;
  const host = await serve((ids) => {
    if (ids.length > 1) return JSON.stringify(ids.map((id) => ({ id, result: 'x'.repeat(60_000) })));
    // The lone call is answered once the large answer has ended the connection.
    const isLost = isFirst;
    isFirst = false;
    return isLost ? '{"method":"notification"}' : `{"id":${ids[0]},"result":1}`;
  });
  const rpc = new NodeRpc(`ws://${host}`, LIMITS);
  const [alone, together] = await Promise.all([rpc.batch([call]), rpc.batch([call, call])]);
  expect(alone).toEqual([{ result: 1 }]);
  expect(together).toHaveLength(2);
});

test('no part of an address is told, in any spelling', async () => {
  const host = await serve(
    ([id]) => `{"id":${id},"error":{"code":1,"message":"user pass word+1 is not pass%20word%2B1"}}`,
  );
  const rpc = new NodeRpc(`http://name:pass%20word%2B1@${host}`, LIMITS);
  await expect(rpc.call('m')).rejects.toThrow(/user … is not …$/);
});
