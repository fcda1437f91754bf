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

/** The socket for commands. File permissions control access: every user who can write to the data directory can call it. */
interface OperationSocket {
  readonly path: string;
  close(): Promise<void>;
}

/** Listens for calls. The caller has locked the directory, so an existing socket belongs to a dead process. */
export async function openOperationSocket(
  client: OperationClient,
  directory: string,
  log: FastifyBaseLogger,
): Promise<OperationSocket> {
  const failures: string[] = [];
  for (const path of socketPaths(directory)) {
    const app = buildApp(client, log);
    try {
      // If the path does not exist or is not accessible, `listen` reports it.
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
    // Files may have any size and take any time. Open calls end with the server.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    http: { maxHeaderSize: HEADER_BYTES_MAX },
    forceCloseConnections: true,
  }) as unknown as FastifyInstance;
  app.removeAllContentTypeParsers();
  // Bodies are streamed, and never kept in memory as a whole.
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  app.post<{ Params: { name: string } }>('/operations/:name', async (request, reply) => {
    const { name } = request.params;
    if (!Object.hasOwn(operations, name)) {
      return reply.code(404).send(toWire(new ProductError('usage', `there is no operation ${name}`)));
    }
    return answer(client, name as OperationName, request, reply);
  });
  return app;
}

/** Room for the ids of ten thousand dead letters. */
const HEADER_BYTES_MAX = 1024 * 1024;

/** Sends a stream as it is. Any other result is the last line of JSON, after one line per step of progress. */
async function answer(
  client: OperationClient,
  name: OperationName,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const lines = new PassThrough();
  // The caller has hung up. The signal below ends the operation.
  lines.on('error', ignore('operations.lines'));
  const write = (line: WireLine) => {
    if (lines.writable) lines.write(`${JSON.stringify(line)}\n`);
  };
  const hungUp = new AbortController();
  // Listen to the answer, not to the connection, which may carry thousands of calls.
  reply.raw.once('close', () => hungUp.abort());
  const input = JSON.parse(decodeURIComponent(String(request.headers[INPUT_HEADER] ?? '{}'))) as never;
  const call = client.call(name, input, {
    body: request.body instanceof Readable ? detachedBody(request.body) : Readable.from([]),
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

/** A copy of the body that an operation may destroy. Destroying the request would close the connection with its answer. */
function detachedBody(request: Readable): Readable {
  const body = new PassThrough();
  // The reader of the body gets the error. An operation that refused its input has no reader.
  body.on('error', ignore('operations.body'));
  request.once('error', (error) => body.destroy(error));
  request.once('close', () => {
    if (!request.readableEnded) body.destroy(new Error('the caller hung up'));
  });
  return request.pipe(body);
}
