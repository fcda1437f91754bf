import { once } from 'node:events';
import { Readable } from 'node:stream';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { ProductError, unwritable } from '../../../../infra/errors.ts';
import type { OperationClient } from '../../../../serve/application/operations/client.ts';
import { unpackFiles } from '../../../../serve/application/operations/files-body.ts';
import { SocketClient } from '../../../../serve/application/operations/socket-client.ts';
import { openOperationSocket } from '../../../../serve/application/operations/socket-server.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const PIECE = Buffer.alloc(2 ** 20, 'x');
/** Far more than the buffers of a connection hold. */
const PIECES = 64;

/** A server that reads a little of what it is sent and then fails so. */
async function failingWith(error: Error) {
  const directory = temporaryDirectory();
  const server = {
    location: 'here',
    call: async (_name: string, _input: object, { body }: { body: Readable }) => {
      try {
        for await (const { bytes } of unpackFiles(body)) for await (const _ of bytes) throw error;
      } finally {
        body.destroy();
      }
    },
    close: async () => undefined,
  } as unknown as OperationClient;
  const socket = await openOperationSocket(server, directory.path, fastify().log);
  const client = (await SocketClient.connect(directory.path)) as SocketClient;
  const close = async () => {
    await socket.close();
    directory[Symbol.dispose]();
  };
  return { client, [Symbol.asyncDispose]: close };
}

const file = (name: string, read: () => AsyncGenerator<Buffer>) => ({ name, bytes: Readable.from(read()) });
async function* large() {
  for (let i = 0; i < PIECES; i++) yield PIECE;
}

test.each([
  unwritable('ENOSPC: no space left on device, write'),
  new ProductError('store_memory', 'the store is out of memory'),
  new ProductError('store_busy', 'the store has too much to do'),
  new ProductError('usage', 'no chain is called atlantis'),
])('what a server says while a file is on its way reaches the caller: $message', async (error) => {
  await using served = await failingWith(error);
  const ingest = served.client.call(
    'ingestFiles',
    { demo: false },
    { files: [file('a', large), file('b', large)] },
  );
  await expect(ingest).rejects.toMatchObject({ code: error.code, message: error.message });
});

test('a file that breaks off is the fault of the file', async () => {
  await using served = await failingWith(new Error('never read so far'));
  const broken = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
  const failing = file('a', async function* () {
    yield Buffer.alloc(0);
    throw broken;
  });
  await expect(served.client.call('ingestFiles', { demo: false }, { files: [failing] })).rejects.toBe(broken);
});

test('a server that goes away is told as that', async () => {
  const directory = temporaryDirectory();
  const server = { call: () => new Promise(() => undefined) } as unknown as OperationClient;
  const socket = await openOperationSocket(server, directory.path, fastify().log);
  const client = (await SocketClient.connect(directory.path)) as SocketClient;
  const endless = new Readable({ read: () => undefined });
  endless.push(PIECE);
  const call = client.call('ingest', { name: 'a' }, { body: endless });
  call.catch(() => undefined);
  await once(endless, 'data').catch(() => undefined);
  await socket.close();
  await expect(call).rejects.toMatchObject({ message: expect.stringMatching(/the server stopped/) });
  directory[Symbol.dispose]();
});
