import { createHash } from 'node:crypto';
import { chmod, lstat, rm, stat } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply } from 'fastify';
import { z } from 'zod';
import { replayOrder } from '../aggregate/alerts/processor/replay.ts';
import { type ErrorCode, ProductError, reasonOf } from '../infra/errors.ts';
import { deadLetterRequest } from '../ingest/log/dead-letter-requests.ts';
import type { ExportRequest, Operator } from './cli/operator.ts';
import { usersOrder } from './identity/accounts/operator.ts';

/**
 * The operator's socket: whoever may write into the data directory may order work from the server that owns it,
 * and nobody else, so it needs no keys. Long work answers with a line of JSON for each step of progress and one
 * for the result.
 */
export interface Control {
  readonly path: string;
  close(): Promise<void>;
}

/** Kernels take at most 104 to 108 bytes for a socket's path. */
const PATH_BYTES_MAX = 100;

/** Where the socket may be, best first: beside the data, or where paths are short and every disk takes sockets. */
export function socketPaths(directory: string): string[] {
  const beside = join(directory, 'control.sock');
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  const aside = join(tmpdir(), `chain-metrics-${hash}.sock`);
  return Buffer.byteLength(beside) <= PATH_BYTES_MAX ? [beside, aside] : [aside];
}

/** The socket of the process that owns the directory; null when nobody answers. */
export async function findSocket(directory: string): Promise<string | null> {
  const [beside] = socketPaths(directory);
  for (const path of socketPaths(directory)) {
    // Anybody may put a file into the directory for temporary ones: only that of our own people is believed.
    if ((path === beside || (await isOurs(path, directory))) && (await answers(path))) return path;
  }
  return null;
}

async function isOurs(path: string, directory: string): Promise<boolean> {
  try {
    const { uid } = await lstat(path);
    return uid === process.getuid?.() || uid === (await stat(directory)).uid;
  } catch {
    return false;
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ path });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Listens for orders. The caller owns the directory, so a socket that is there belongs to a dead process. */
export async function openControl(
  operator: Operator,
  directory: string,
  log: FastifyBaseLogger,
): Promise<Control> {
  const failures: string[] = [];
  for (const path of socketPaths(directory)) {
    const app = buildControl(operator, log);
    try {
      if ((await lstat(path).catch(() => null))?.isSocket()) await rm(path);
      await app.listen({ path });
      await chmod(path, 0o600);
      return { path, close: () => app.close() };
    } catch (error) {
      failures.push(reasonOf(error));
      await app.close();
    }
  }
  throw new ProductError('store_failed', `no socket for orders can be made: ${failures.join('; ')}`);
}

function buildControl(operator: Operator, log: FastifyBaseLogger): FastifyInstance {
  const app = Fastify({
    loggerInstance: log.child({ part: 'control' }, { level: 'warn' }),
    // A file may have any size and take any time; what is in flight ends with the server.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    forceCloseConnections: true,
  }) as unknown as FastifyInstance;
  // The bytes are passed on as they come: as fast as they are loaded, and never held as a whole.
  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));

  app.setErrorHandler((error, _request, reply) => reply.code(500).send(errorOf(error)));

  app.get('/status', () => operator.status());
  app.get('/coverage', (request) => operator.coverage(coverageQuery.parse(request.query)));
  app.get('/missing', (request) => operator.missing(missingQuery.parse(request.query)));
  app.get('/export', async (request, reply) => {
    const rows = await operator.export(exportQuery.parse(request.query) as ExportRequest);
    return reply.type('application/octet-stream').send(rows);
  });
  app.post('/ingest', (request, reply) => {
    const { name, chain } = ingestQuery.parse(request.query);
    const source = { name, bytes: request.body as Readable, ...(chain === undefined ? {} : { chain }) };
    return streamed(reply, (send) => operator.ingest(source, send));
  });
  app.post('/settle', (_request, reply) =>
    streamed(reply, (send) => operator.waitUntilComputed(send).then(() => ({}))),
  );
  app.post('/rebuild', (request, reply) => {
    const order = rebuildBody.parse(request.body);
    return streamed(reply, (send) => operator.rebuild(order, send));
  });
  app.post('/alerts/replay', (request) => operator.replayAlerts(replayOrder.parse(request.body)));
  app.post('/dead-letters', (request) => operator.deadLetters(deadLetterRequest.parse(request.body)));
  app.post('/users', (request) => operator.users(usersOrder.parse(request.body)));
  // Held for as long as the caller stays on the line, so that one who dies holds nothing.
  app.post('/hold', (request, reply) =>
    streamed(reply, (send) =>
      operator.hold(async () => {
        send({});
        await new Promise((gone) => request.raw.socket.once('close', gone));
        return {};
      }),
    ),
  );
  return app;
}

const coverageQuery = z
  .object({ relay_chain: z.string().optional(), chain: z.string().optional() })
  .transform(dropUndefined);
const ingestQuery = z.object({ name: z.string(), chain: z.string().optional() });
const height = z.coerce.number().int().min(0);
const missingQuery = z.object({ chain: z.string(), from: height, to: height });
const exportQuery = z.object({
  metric: z.string(),
  format: z.string(),
  relay_chain: z.string().optional(),
  chain: z.string().optional(),
  from: z.iso.date().optional(),
  until: z.iso.date().optional(),
});
const rebuildBody = z.object({ metrics: z.array(z.string()), from: z.iso.date(), until: z.iso.date() });

/** A failure, as it is told to the caller. */
export interface ControlError {
  readonly code?: ErrorCode;
  readonly message: string;
  readonly detail?: string;
}

/** A line of an answer that takes its time. */
export type Line<ComputeProgress, Result> =
  | { readonly progress: ComputeProgress }
  | { readonly result: Result }
  | { readonly error: ControlError };

function streamed(
  reply: FastifyReply,
  work: (send: (progress: object) => void) => Promise<object>,
): FastifyReply {
  const lines = new PassThrough();
  const write = (line: Line<object, object>) => {
    if (lines.writable) lines.write(`${JSON.stringify(line)}\n`);
  };
  lines.on('error', () => undefined);
  work((progress) => write({ progress }))
    .then(
      (result) => write({ result }),
      (error) => {
        if (reply.raw.destroyed) reply.log.warn('whoever gave an order hung up before it was done');
        else if (!(error instanceof ProductError)) reply.log.warn({ err: error }, 'an order failed');
        write({ error: errorOf(error) });
      },
    )
    .finally(() => lines.end());
  return reply.type('application/x-ndjson').send(lines);
}

/** What the caller can throw again as its own. */
function errorOf(error: unknown): ControlError {
  const known = error instanceof ProductError ? { code: error.code, detail: error.detail } : {};
  return dropUndefined({ message: reasonOf(error), ...known }) as ControlError;
}

function dropUndefined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never;
}
