import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { NodeRpc, type RpcAnswer, type RpcCall, type RpcLimits, resultOf } from '../../../ingest/node/rpc.ts';
import { NodeRefusal } from '../../../ingest/node/rpc-errors.ts';

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}
type Reply = string | number | 'silence' | { readonly closes: number } | { readonly retryAfter: string };

const LIMITS: RpcLimits = { attempts: 4, backoffMs: 1, timeoutMs: 300, answerBytes: 100_000 };

const open: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const echo = ({ id, method, params }: Call) => ({ jsonrpc: '2.0', id, result: [method, ...params] });
const refuse = (id: number | null, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

/** A node over HTTP and WebSocket, by a function from the calls of a request to its reply: text, status, or nothing. */
async function serve(reply: (calls: readonly Call[]) => Reply) {
  const requests: number[] = [];
  const answer = (text: string): Reply => {
    const calls = [JSON.parse(text)].flat() as Call[];
    requests.push(calls.length);
    return reply(calls);
  };
  const server = createServer(async (request, response) => {
    const said = answer((await request.toArray()).join(''));
    if (typeof said === 'string') {
      if (said !== 'silence') response.end(said);
    } else if (typeof said === 'number') response.writeHead(said).end('no');
    else if ('closes' in said) response.destroy();
    else response.writeHead(429, { 'retry-after': said.retryAfter }).end('slow down');
  });
  const sockets = new WebSocketServer({ server });
  let connections = 0;
  sockets.on('connection', (socket: WebSocket) => {
    connections++;
    socket.on('message', (data: Buffer) => {
      const said = answer(data.toString());
      if (typeof said === 'string') {
        if (said !== 'silence') socket.send(said);
      } else if (typeof said === 'object' && 'closes' in said) socket.close(said.closes);
      else socket.close(1008);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, requests, connections: () => connections };
}

const answersAll = (calls: readonly Call[]) =>
  JSON.stringify(calls.length === 1 ? echo(calls[0] as Call) : calls.map(echo));
const calls = (count: number): RpcCall[] =>
  Array.from({ length: count }, (_, i) => ({ method: 'm', params: [i] }));
const results = (count: number) => Array.from({ length: count }, (_, i) => ({ result: ['m', i] }));

describe.each(['ws', 'http'])('over %s', (scheme) => {
  const connect = ({ host }: { host: string }, limits: Partial<RpcLimits> = {}) =>
    new NodeRpc(`${scheme}://${host}/key-of-a-provider?apikey=0123456789`, { ...LIMITS, ...limits });

  test('calls, batches, and answers in another order', async () => {
    const node = await serve((asked) =>
      asked.length === 1 ? answersAll(asked) : JSON.stringify(asked.map(echo).reverse()),
    );
    const rpc = connect(node);
    expect(await rpc.call('system_chain', [1])).toEqual(['system_chain', 1]);
    expect(await rpc.batch(calls(5))).toEqual(results(5));
    expect(await rpc.batch([])).toEqual([]);
    expect(node.requests).toEqual([1, 5]);
  });

  test('halves a batch that is too long, and remembers how many calls the node takes', async () => {
    const node = await serve((asked) =>
      asked.length > 10
        ? JSON.stringify({ ...refuse(null, -32010, 'The batch request was too large') })
        : answersAll(asked),
    );
    const rpc = connect(node);
    expect(await rpc.batch(calls(40))).toEqual(results(40));
    expect(node.requests).toEqual([40, 20, 20, 10, 10, 10, 10]);
    expect(await rpc.batch(calls(20))).toEqual(results(20));
    expect(node.requests.slice(7)).toEqual([10, 10]);
  });

  test('sends calls alone to a node that refuses batches', async () => {
    const node = await serve((asked) =>
      asked.length > 1
        ? JSON.stringify(
            asked.map(({ id }) => refuse(id, -32005, 'Batched requests are not supported by this server')),
          )
        : answersAll(asked),
    );
    expect(await connect(node).batch(calls(4))).toEqual(results(4));
  });

  test('asks again for less when an answer is cut, and keeps what came', async () => {
    const node = await serve((asked) =>
      asked.length > 4 ? answersAll(asked).slice(0, 50) : answersAll(asked),
    );
    expect(await connect(node).batch(calls(16))).toEqual(results(16));
  });

  test('asks again for what a batch lacks only', async () => {
    let isFirst = true;
    const asked: unknown[][] = [];
    const node = await serve((all) => {
      asked.push(all.flatMap(({ params }) => params));
      const some = isFirst ? all.slice(0, 2) : all;
      isFirst = false;
      return some.length === 1 ? answersAll(some) : JSON.stringify(some.map(echo));
    });
    expect(await connect(node).batch(calls(4))).toEqual(results(4));
    expect(asked).toEqual([[0, 1, 2, 3], [2], [3]]);
  });

  test('bounds the bytes of an answer', async () => {
    const node = await serve((asked) =>
      JSON.stringify(asked.map(({ id }) => ({ jsonrpc: '2.0', id, result: 'x'.repeat(2000) }))),
    );
    const rpc = connect(node, { answerBytes: 5000 });
    expect(await rpc.batch(calls(4))).toEqual(Array(4).fill({ result: 'x'.repeat(2000) }));
    const small = connect(node, { answerBytes: 500 });
    expect(await small.batch(calls(2))).toEqual(
      Array(2).fill({ error: expect.objectContaining({ code: 'source_failed' }) }),
    );
  });

  test('waits when the node limits the rate, and gives up after so many attempts', async () => {
    let left = 3;
    const limited = await serve((asked) =>
      left-- > 0
        ? JSON.stringify(asked.map(({ id }) => refuse(id, -32029, 'Too many requests')))
        : answersAll(asked),
    );
    expect(await connect(limited).batch(calls(3))).toEqual(results(3));
    const closed = await serve(() => ({ closes: 1013 }));
    const began = performance.now();
    await expect(connect(closed, { backoffMs: 20 }).call('m')).rejects.toMatchObject({
      name: 'ProductError',
    });
    expect(closed.requests).toEqual([1, 1, 1, 1]);
    expect(performance.now() - began).toBeGreaterThan(20 + 40 + 80);
  });

  test('retries what may pass, and tells the error of a node apart from a lost connection', async () => {
    let left = 1;
    const node = await serve(([{ id, method } = { id: 0, method: '' }]) => {
      if (method === 'passing' && left-- > 0) return JSON.stringify(refuse(id, -32603, 'Internal error'));
      if (method === 'pruned')
        return JSON.stringify(
          refuse(id, 4003, 'Client error: UnknownBlock: State already discarded for 0x12'),
        );
      if (method === 'broken') return JSON.stringify(refuse(id, -32000, 'bad database of 0123456789'));
      return JSON.stringify({ jsonrpc: '2.0', id, result: 1 });
    });
    const rpc = connect(node);
    expect(await rpc.call('passing')).toBe(1);
    await expect(rpc.call('pruned')).rejects.toMatchObject({
      isPruned: true,
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ Client error.*archive node/),
    });
    await expect(rpc.call('broken')).rejects.toBeInstanceOf(NodeRefusal);
    await expect(rpc.call('broken')).rejects.toMatchObject({
      isPruned: false,
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ bad database of …$/),
    });
  });

  test('an answer that does not come is asked for again', async () => {
    let left = 1;
    const node = await serve((asked) => (left-- > 0 ? 'silence' : answersAll(asked)));
    expect(await connect(node, { timeoutMs: 100 }).batch(calls(4))).toEqual(results(4));
    if (scheme === 'ws') expect(node.connections()).toBe(2);
    const silent = await serve(() => 'silence');
    await expect(connect(silent, { timeoutMs: 50, attempts: 2 }).call('m')).rejects.toMatchObject({
      code: 'source_unreachable',
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ did not answer within 0\.05 s$/),
    });
  });

  test('a lost connection is opened again; nobody there is a failure without the address', async () => {
    let left = 2;
    const node = await serve((asked) => (left-- > 0 ? { closes: 1001 } : answersAll(asked)));
    expect(await connect(node).batch(calls(4))).toEqual(results(4));
    const nobody = new NodeRpc(`${scheme}://user:password@127.0.0.1:9/key-of-a-provider`, LIMITS);
    const [answer] = await nobody.batch(calls(1));
    expect(answer).toMatchObject({ error: { code: 'source_unreachable' } });
    expect(() => resultOf(answer as RpcAnswer)).toThrow('cannot be reached');
    expect(JSON.stringify(answer) + String((answer as { error: Error }).error)).not.toMatch(
      /password|key-of/,
    );
  });

  test('a signal ends what is under way', async () => {
    const node = await serve(() => 'silence');
    const stop = new AbortController();
    const asked = connect(node, { signal: stop.signal }).call('m');
    setTimeout(() => stop.abort(new Error('stopped')), 20);
    await expect(asked).rejects.toThrow('stopped');
  });
});

test('the rate that a provider limits is kept for all chains that are asked for there', async () => {
  let isFirst = true;
  const node = await serve((asked) => {
    if (!isFirst) return answersAll(asked);
    isFirst = false;
    return { retryAfter: '1' };
  });
  const [polkadot, kusama] = ['http', 'ws'].map(
    (scheme) => new NodeRpc(`${scheme}://${node.host}/${scheme}`, LIMITS),
  ) as [NodeRpc, NodeRpc];
  const began = performance.now();
  const limited = polkadot.call('a');
  while (node.requests.length === 0) await new Promise((later) => setTimeout(later, 1));
  await new Promise((later) => setTimeout(later, 50));
  await kusama.call('b');
  expect(performance.now() - began).toBeGreaterThan(900);
  await limited;
  expect(node.requests).toEqual([1, 1, 1]);
});

test('a WebSocket that is refused for a while is opened later', async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  let refusals = 2;
  server.on('upgrade', (request, socket, head) => {
    if (refusals-- > 0) return void socket.end('HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, (opened) => {
      opened.on('message', (data: Buffer) => opened.send(answersAll([JSON.parse(data.toString())])));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const rpc = new NodeRpc(`ws://127.0.0.1:${port}`, LIMITS);
  expect(await rpc.call('m', [1])).toEqual(['m', 1]);
  const refused = new NodeRpc(`ws://127.0.0.1:${port}`, { ...LIMITS, attempts: 2 });
  refusals = 2;
  await expect(refused.call('m')).rejects.toThrow('answered 429 instead of opening a WebSocket');
});
