import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import type { OperationClient } from '../../../../serve/application/operations/client.ts';
import { openOperationSocket } from '../../../../serve/application/operations/socket-server.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** A socket whose calls answer with what `answer` makes, and calls of it over one connection. */
async function serving(answer: (signal: AbortSignal) => Readable | Promise<never>) {
  const directory = temporaryDirectory();
  const client = {
    location: 'here',
    call: async (_name: string, _input: object, { signal }: { signal: AbortSignal }) => answer(signal),
    close: async () => undefined,
  } as unknown as OperationClient;
  const socket = await openOperationSocket(client, directory.path, fastify().log);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const begin = () => {
    const sent = request({ socketPath: socket.path, method: 'POST', path: '/operations/export', agent });
    return sent.setHeader('content-type', 'application/octet-stream');
  };
  const call = async (): Promise<IncomingMessage> => {
    const [answered] = await once(begin().end(), 'response');
    return answered;
  };
  const close = async () => {
    agent.destroy();
    await socket.close();
    directory[Symbol.dispose]();
  };
  return { begin, call, [Symbol.asyncDispose]: close };
}

test('many calls over one connection leave nothing on it', async () => {
  await using served = await serving(() => Readable.from(['rows']));
  const sockets = new Set<IncomingMessage['socket']>();
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  for (let i = 0; i < 15; i++) {
    const answer = await served.call();
    sockets.add(answer.socket);
    expect(await text(answer)).toBe('rows');
  }
  await new Promise((turn) => setImmediate(turn));
  process.off('warning', note);
  expect(sockets.size).toBe(1);
  expect(warnings).toEqual([]);
});

test('a caller who hangs up ends the call', async () => {
  let aborted: Promise<unknown> = Promise.resolve();
  await using served = await serving((signal) => {
    aborted = once(signal, 'abort');
    const endless = new Readable({ read: () => undefined });
    endless.push('begun');
    return endless;
  });
  const answer = await served.call();
  answer.destroy();
  await aborted;
});

test('a caller who hangs up in the middle of a file that nobody reads leaves the server running', async () => {
  const { promise: begun, resolve } = Promise.withResolvers<AbortSignal>();
  await using served = await serving((signal) => {
    resolve(signal);
    return new Promise(() => undefined);
  });
  const sent = served.begin().on('error', () => undefined);
  sent.write('the beginning');
  const hungUp = once(await begun, 'abort');
  sent.destroy();
  await hungUp;
  // An error that nobody listens for would end the process by now.
  await new Promise((turn) => setImmediate(turn));
});
