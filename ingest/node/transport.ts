import { ProductError } from '../../infra/errors.ts';

export interface RpcRequest {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
  /** Only for a single request over WebSocket. */
  readonly onEvent?: OnEvent | undefined;
}

/** Receives the events of a subscription. Returns undefined, and for the last event the answer to the request. */
export type OnEvent = (
  event: unknown,
  subscription: unknown,
) => Pick<RpcReply, 'result' | 'error'> | undefined;

/** One answer of a node. `id` is null if the node could not read the request's id, and absent in a notification. */
export interface RpcReply {
  readonly id: number | null | undefined;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** Set in a notification. */
  readonly event?: RpcEvent;
}

export interface RpcEvent {
  readonly subscription: unknown;
  readonly event: unknown;
}

export interface TransportLimits {
  /** Largest answer. */
  readonly answerBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Sends requests to a node. */
export interface Transport {
  /** Sends the requests together. Some replies may be missing. Throws `RequestFailure` if none came. */
  exchange(requests: readonly RpcRequest[], timeoutMs: number): Promise<readonly RpcReply[]>;
}

/**
 * - `lost`: the node did not answer, so another attempt may succeed.
 * - `busy`: the node or its proxy limits the rate.
 * - `large`: the request or its answer is too large; a smaller one may succeed.
 * - `ambiguous`: an unknown one of several answers was too large; another attempt may succeed.
 * - `refused`: another attempt cannot succeed.
 */
type FailureKind = 'lost' | 'busy' | 'large' | 'ambiguous' | 'refused';

/** The failure of a request without an answer. */
export class RequestFailure extends ProductError {
  readonly kind: FailureKind;
  /** The wait that the node requests. */
  readonly waitMs: number;

  constructor(kind: FailureKind, text: string, waitMs = 0) {
    super(kind === 'lost' ? 'source_unreachable' : 'source_failed', text);
    this.kind = kind;
    this.waitMs = waitMs;
  }
}

/** Classifies an HTTP status. */
export function failureOfStatus(status: number, text: string, waitMs: number | null): RequestFailure {
  if (status === 429 || status === 503) return new RequestFailure('busy', text, waitMs ?? 0);
  if (status === 413) return new RequestFailure('large', text);
  return new RequestFailure(status >= 500 || status === 408 ? 'lost' : 'refused', text);
}

/** Encodes requests. A single request is not sent as a batch, because some nodes refuse batches. */
export function bodyOf(requests: readonly RpcRequest[]): string {
  const calls = requests.map((request) => ({ jsonrpc: '2.0', ...request }));
  return JSON.stringify(calls.length === 1 ? calls[0] : calls);
}

/** Decodes the replies in an answer. Leaves out invalid replies, so their calls count as not answered. */
export function repliesOf(text: string): readonly RpcReply[] {
  return [parsed(text)].flat().flatMap((item: unknown): RpcReply[] => {
    if (typeof item !== 'object' || item === null) return [];
    const { id, result, error, params } = item as Record<string, unknown>;
    if (id === undefined && typeof params === 'object' && params !== null) {
      const { subscription, result: event } = params as Record<string, unknown>;
      return [{ id, event: { subscription, event } }];
    }
    const reply = { id: typeof id === 'number' || id === null ? id : undefined };
    // Some proxies send `"error":null` beside a result.
    return [
      error === undefined || error === null ? { ...reply, result } : { ...reply, error: errorOf(error) },
    ];
  });
}

/** Some nodes and proxies truncate answers at 10 or 15 MB. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestFailure('large', 'did not return JSON, or truncated it');
  }
}

/** Reads an error of JSON-RPC. Any other value becomes the message. */
function errorOf(error: unknown): NonNullable<RpcReply['error']> {
  const { code, message, data } = error as Record<string, unknown>;
  return typeof message === 'string'
    ? { code: Number(code), message, data }
    : { code: Number(code), message: typeof error === 'string' ? error : JSON.stringify(error) };
}
