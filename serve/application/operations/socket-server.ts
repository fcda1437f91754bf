import { chmod, lstat, rm } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { ignore } from '../../../infra/ignore.ts';
import type { OperationClient } from './client.ts';
import type { Operation } from './operation.ts';
import { type OperationName, operations } from './operations.ts';
import { socketPaths } from './socket-path.ts';
import { INPUT_HEADER, toWire, type WireLine } from './wire.ts';

/**
 * The operators' socket. Its file permissions are its access control: who may write into the data directory may
 * call operations, so there are no keys.
 */
interface OperationSocket {
  readonly path: string;
  close(): Promise<void>;
}

/** Listens for calls. The caller has locked the directory, so a socket that is there belongs to a dead process. */
export async function openOperationSocket(
  client: OperationClient,
  directory: string,
  log: FastifyBaseLogger,
): Promise<OperationSocket> {
  const failures: string[] = [];
  for (const path of socketPaths(directory)) {
    const app = buildApp(client, log);
    try {
      // A path that is not there, or may not be seen, makes `listen` say so.
      if ((await lstat(path).catch(() => null))?.isSocket()) await rm(path);
      await app.listen({ path });
      await chmod(path, 0o600);
      return { path, close: () => app.close() };
    } catch (error) {
      failures.push(reasonOf(error));
      await app.close();
    }
  }
  throw new ProductError('store_failed', `the operators' socket cannot be created: ${failures.join('; ')}`);
}

function buildApp(client: OperationClient, log: FastifyBaseLogger): FastifyInstance {
  const app = Fastify({
    loggerInstance: log.child({ part: 'operations' }, { level: 'warn' }),
    // A file may have any size and take any time; what is in flight ends with the server.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    http: { maxHeaderSize: HEADER_BYTES_MAX },
    forceCloseConnections: true,
  }) as unknown as FastifyInstance;
  app.removeAllContentTypeParsers();
  // The bytes are streamed: they are loaded as they come, and never held as a whole.
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  app.post<{ Params: { name: string } }>('/operations/:name', async (request, reply) => {
    const { name } = request.params;
    if (!Object.hasOwn(operations, name)) {
      return reply.code(404).send(toWire(new ProductError('usage', `no operation is called ${name}`)));
    }
    return answer(client, name as OperationName, request, reply);
  });
  return app;
}

/** Room for the ids of ten thousand dead letters. */
const HEADER_BYTES_MAX = 1024 * 1024;

/** A stream is passed on; every other result is the last line of JSON, behind a line for each step of progress. */
async function answer(
  client: OperationClient,
  name: OperationName,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const lines = new PassThrough();
  // The caller has hung up, which ends the operation below.
  lines.on('error', ignore('operations.lines'));
  const write = (line: WireLine) => {
    if (lines.writable) lines.write(`${JSON.stringify(line)}\n`);
  };
  const hungUp = new AbortController();
  // Of the answer, not of the connection, which carries thousands of calls: `export-raw` asks for each file.
  reply.raw.once('close', () => hungUp.abort());
  const input = JSON.parse(decodeURIComponent(String(request.headers[INPUT_HEADER] ?? '{}'))) as never;
  const call = client.call(name, input, {
    body: request.body instanceof Readable ? separate(request.body) : Readable.from([]),
    onProgress: (progress: unknown) => write({ progress }),
    signal: hungUp.signal,
  });
  const { isStream }: Pick<Operation<never, never, unknown>, 'isStream'> = operations[name];
  if (isStream) {
    try {
      const stream = await call;
      return reply.type('application/octet-stream').send(stream);
    } catch (error) {
      return reply.code(500).send(toWire(error));
    }
  }
  call
    .then(
      (result) => write({ result: result ?? null }),
      (error) => {
        if (reply.raw.destroyed) reply.log.warn({ operation: name }, 'the caller hung up before the result');
        else if (!(error instanceof ProductError) || error.code.startsWith('store_'))
          reply.log.warn({ err: error, operation: name }, `an operation failed: ${reasonOf(error)}`);
        write({ error: toWire(error) });
      },
    )
    .finally(() => lines.end());
  return reply.type('application/x-ndjson').send(lines);
}

/** The bytes of a request, for who may stop reading them: to destroy the request would take the connection, and the answer, along. */
function separate(request: Readable): Readable {
  const body = new PassThrough();
  // Whoever reads it hears of the error; an operation that refused its input reads nothing.
  body.on('error', ignore('operations.body'));
  request.once('error', (error) => body.destroy(error));
  request.once('close', () => {
    if (!request.readableEnded) body.destroy(new Error('the caller hung up'));
  });
  return request.pipe(body);
}
