import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { reasonOf } from '../../infra/errors.ts';
import { parseRetryAfter } from '../../infra/retry-after.ts';
import {
  bodyOf,
  failureOfStatus,
  type OnEvent,
  RequestFailure,
  type RpcEvent,
  type RpcReply,
  type RpcRequest,
  repliesOf,
  type Transport,
  type TransportLimits,
} from './transport.ts';

interface Exchange {
  readonly ids: ReadonlySet<number>;
  readonly onEvent: OnEvent | undefined;
  /** Restarts the timeout. */
  readonly prolong: () => void;
  /** The subscription id from the node. */
  subscription?: unknown;
  readonly resolve: (replies: readonly RpcReply[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Close codes of a server that limits the rate: "policy violation" (RFC 6455) and "try again later". */
const BUSY_CODES = [1008, 1013];
const TOO_LARGE_CODE = 1009;
/** Each fragment takes memory beside its bytes. */
const FRAGMENTS_MAX = 16_384;

/** Sends concurrent requests over one WebSocket. Opens a new one after an error or a timeout. */
export class SocketTransport implements Transport {
  readonly #url: string;
  readonly #limits: TransportLimits;
  #connection: Promise<Connection> | null = null;

  constructor(url: URL, limits: TransportLimits) {
    this.#url = url.href;
    this.#limits = limits;
  }

  async exchange(requests: readonly RpcRequest[], timeoutMs: number): Promise<readonly RpcReply[]> {
    this.#limits.signal?.throwIfAborted();
    const connection = await this.#connect(timeoutMs);
    return connection.exchange(requests, timeoutMs);
  }

  #connect(timeoutMs: number): Promise<Connection> {
    if (this.#connection) return this.#connection;
    const opening = Connection.open(this.#url, this.#limits, timeoutMs, () => {
      if (this.#connection === opening) this.#connection = null;
    });
    this.#connection = opening;
    return opening;
  }
}

class Connection {
  readonly #socket: WebSocket;
  readonly #exchanges = new Set<Exchange>();
  #heardAt = performance.now();
  #carrier: Socket | null = null;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static open(
    url: string,
    { answerBytes, signal }: TransportLimits,
    timeoutMs: number,
    onClosed: () => void,
  ): Promise<Connection> {
    const socket = new WebSocket(url, {
      maxPayload: answerBytes,
      handshakeTimeout: timeoutMs,
      perMessageDeflate: false,
      maxFragments: FRAGMENTS_MAX,
      skipUTF8Validation: true,
    });
    const connection = new Connection(socket);
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        onClosed();
        reject(error);
        connection.#fail(error);
        socket.terminate();
      };
      const onAbort = () => fail(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      socket.on('unexpected-response', (_, { statusCode = 0, headers }) => {
        const waitMs = parseRetryAfter(headers['retry-after']);
        fail(failureOfStatus(statusCode, `answered ${statusCode} instead of opening a WebSocket`, waitMs));
      });
      socket.on('upgrade', ({ socket: carrier }) => {
        connection.#carrier = carrier;
      });
      socket.on('open', () => resolve(connection));
      socket.on('message', (data: Buffer) => connection.#take(data));
      socket.on('error', (error) => fail(failureOf(error)));
      socket.on('close', (code) => {
        signal?.removeEventListener('abort', onAbort);
        const kind = code === TOO_LARGE_CODE ? 'large' : BUSY_CODES.includes(code) ? 'busy' : 'lost';
        fail(new RequestFailure(kind, `closed the connection (${code})`));
      });
    });
  }

  exchange(requests: readonly RpcRequest[], timeoutMs: number): Promise<readonly RpcReply[]> {
    const sentAt = performance.now();
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#exchanges.delete(exchange);
        // An idle connection must not keep the process alive.
        if (this.#exchanges.size === 0) this.#hold(false);
      };
      const exchange: Exchange = {
        ids: new Set(requests.map(({ id }) => id)),
        onEvent: requests.length === 1 ? requests[0]?.onEvent : undefined,
        prolong: () => timer.refresh(),
        resolve: (replies) => {
          end();
          resolve(replies);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        exchange.reject(new RequestFailure('lost', `did not answer within ${timeoutMs / 1000} s`));
        if (this.#heardAt < sentAt) this.#socket.terminate();
      }, timeoutMs);
      this.#exchanges.add(exchange);
      this.#hold(true);
      this.#socket.send(bodyOf(requests), (error) => {
        if (error) exchange.reject(failureOf(error));
      });
    });
  }

  /** Keeps the process alive while requests wait. Skips a destroyed socket, which would defer the call. */
  #hold(isHeld: boolean): void {
    if (this.#carrier === null || this.#carrier.destroyed) return;
    if (isHeld) this.#carrier.ref();
    else this.#carrier.unref();
  }

  #take(data: Buffer): void {
    this.#heardAt = performance.now();
    const answered = this.#answered(data);
    if (answered === null) return;
    const { replies, exchange } = answered;
    if (exchange) exchange.resolve(replies);
    else {
      // A reply without an id answers the only request. If several wait, it goes to all batches, and they are retried in
      // smaller parts.
      const waiting = [...this.#exchanges];
      for (const other of waiting) if (other.ids.size > 1 || waiting.length === 1) other.resolve(replies);
    }
  }

  /** The replies of a message and their exchange; null for a notification or a late answer. */
  #answered(data: Buffer): { replies: readonly RpcReply[]; exchange: Exchange | undefined } | null {
    try {
      const replies = repliesOf(data.toString('utf8'));
      const [first] = replies;
      if (first?.event !== undefined) this.#takeEvent(first.event);
      if (first === undefined || first.id === undefined) return null;
      const ids = replies.flatMap(({ id }) => id ?? []);
      const exchange = [...this.#exchanges].find((waiting) => ids.some((id) => waiting.ids.has(id)));
      if (exchange?.onEvent && first.error === undefined) {
        exchange.subscription = first.result;
        exchange.prolong();
        return null;
      }
      return ids.length > 0 && !exchange ? null : { replies, exchange };
    } catch (error) {
      // A truncated text names no request.
      this.#fail(error);
      this.#socket.terminate();
      return null;
    }
  }

  #takeEvent({ subscription, event }: RpcEvent): void {
    if (subscription === undefined) return;
    const isOf = (exchange: Exchange) => exchange.onEvent && exchange.subscription === subscription;
    const exchange = [...this.#exchanges].find(isOf);
    exchange?.prolong();
    const last = exchange?.onEvent?.(event, subscription);
    if (exchange && last) exchange.resolve([...exchange.ids].map((id) => ({ id, ...last })));
  }

  /** A too large answer may belong to any of several requests, so single calls among them are retried. */
  #fail(error: unknown): void {
    const exchanges = [...this.#exchanges];
    const isLarge = error instanceof RequestFailure && error.kind === 'large' && exchanges.length > 1;
    for (const exchange of exchanges)
      exchange.reject(
        isLarge && exchange.ids.size === 1 ? new RequestFailure('ambiguous', error.message) : error,
      );
  }
}

/** Maps errors of `ws`: a message above `maxPayload`, and all others. */
function failureOf(error: Error & { readonly code?: string }): RequestFailure {
  if (error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
    return new RequestFailure('large', 'sent an answer above the limit; raise LINE_BYTES_MAX');
  return new RequestFailure('lost', `cannot be reached: ${reasonOf(error) || error.code}`);
}
