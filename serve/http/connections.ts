import type { Server } from 'node:http';
import { BlockList, type Socket, type SocketAddress } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { peerKey } from './client-address.ts';
import type { HttpSettings } from './settings.ts';

/** Longer bodies are written in chunks of this size, so that a connection buffers only a few of them. */
const PART_BYTES = 256 * 1024;
const CHECK_MS = 1000;

export type ConnectionSettings = Pick<
  HttpSettings,
  'REQUEST_SECONDS_MAX' | 'STALL_SECONDS_MAX' | 'CONNECTIONS_MAX' | 'CONNECTIONS_PER_ADDRESS'
>;

/** Fastify options that make Node close a connection whose request does not arrive in time. */
export const arrivalLimits = ({ REQUEST_SECONDS_MAX }: ConnectionSettings) => ({
  requestTimeout: REQUEST_SECONDS_MAX * 1000,
  http: { headersTimeout: REQUEST_SECONDS_MAX * 1000, connectionsCheckingInterval: CHECK_MS },
});

/** The send progress of a connection: bytes sent, and when that number last grew by a chunk. */
interface Connection {
  /** Key of the peer, see `peerKey`. */
  readonly address: string;
  sent: number;
  at: number;
}

/**
 * Limits the number of connections, in all and per address, and closes a connection whose client stops reading. Trusted
 * proxies have no limit per address, because they carry the connections of many callers.
 */
export function limitConnections(
  app: FastifyInstance,
  settings: ConnectionSettings & { readonly isProxy: (address: string) => boolean },
): void {
  const { STALL_SECONDS_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS, isProxy } = settings;
  const server = app.server as Server;
  const open = new Map<Socket, Connection>();
  const byAddress = new Map<string, number>();
  /** Idle keep-alive connections by address. */
  const idle = new Map<string, Set<Socket>>();
  server.maxConnections = CONNECTIONS_MAX;
  // At the limit, idle connections give way to new ones.
  server.on('drop', () => server.closeIdleConnections());
  const isFull = (peer: string) => {
    const address = peerKey(peer);
    if ((byAddress.get(address) ?? 0) < CONNECTIONS_PER_ADDRESS || isProxy(peer)) return false;
    // At the limit of an address too, an idle connection gives way: one tool must not lock out others at its address.
    const [waiting] = idle.get(address) ?? [];
    waiting?.destroy();
    return waiting === undefined;
  };
  if (CONNECTIONS_PER_ADDRESS > 0) Object.assign(server, { blockList: new FullAddresses(isFull) });
  server.on('connection', (socket: Socket) => {
    // `ignoreUpgrades` emits a connection again after a request with `Upgrade`.
    if (open.has(socket)) return;
    const address = peerKey(socket.remoteAddress ?? '');
    byAddress.set(address, (byAddress.get(address) ?? 0) + 1);
    open.set(socket, { address, sent: 0, at: Date.now() });
    socket.once('close', () => {
      open.delete(socket);
      endIdle(socket, address);
      const remaining = (byAddress.get(address) ?? 1) - 1;
      if (remaining > 0) byAddress.set(address, remaining);
      else byAddress.delete(address);
    });
  });
  const endIdle = (socket: Socket, address: string) => {
    const waiting = idle.get(address);
    waiting?.delete(socket);
    if (waiting?.size === 0) idle.delete(address);
  };
  server.on('request', ({ socket }, response) => {
    const address = open.get(socket)?.address ?? '';
    endIdle(socket, address);
    response.once('finish', () => {
      if (!socket.destroyed) idle.set(address, (idle.get(address) ?? new Set()).add(socket));
    });
  });
  const check = setInterval(() => {
    const now = Date.now();
    for (const [socket, progress] of open) {
      if (isStalled(socket, progress, now, STALL_SECONDS_MAX * 1000)) socket.destroy();
    }
  }, CHECK_MS).unref();
  app.addHook('onClose', async () => clearInterval(check));
  app.addHook('onSend', (_request, reply, payload, next) => next(null, inParts(payload, reply)));
}

/** Node checks the block list before it creates a socket, so a flood of connections stays cheap. */
class FullAddresses extends BlockList {
  readonly #isFull: (address: string) => boolean;

  constructor(isFull: (address: string) => boolean) {
    super();
    this.#isFull = isFull;
  }

  override check(address: SocketAddress | string): boolean {
    return this.#isFull(typeof address === 'string' ? address : address.address);
  }
}

/** Returns true if, within the time, the client read neither a whole chunk nor everything that was written. */
function isStalled(socket: Socket, progress: Connection, now: number, msMax: number): boolean {
  const sent = socket.bytesWritten - socket.writableLength;
  if (socket.writableLength === 0 || sent - progress.sent >= PART_BYTES) {
    progress.sent = sent;
    progress.at = now;
    return false;
  }
  return now - progress.at >= msMax;
}

/** Streams a long body in chunks with backpressure. */
function inParts(payload: unknown, reply: { header(name: string, value: number): unknown }): unknown {
  if (typeof payload === 'string' && payload.length > PART_BYTES) return inParts(Buffer.from(payload), reply);
  if (!Buffer.isBuffer(payload) || payload.length <= PART_BYTES) return payload;
  reply.header('content-length', payload.length);
  return Readable.from(partsOf(payload), { objectMode: false, highWaterMark: PART_BYTES });
}

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) yield bytes.subarray(at, at + PART_BYTES);
}
