import { setTimeout } from 'node:timers/promises';
import type { ProductError } from '../../infra/errors.ts';
import { HttpTransport } from './http-transport.ts';
import { gateOf, type RequestGate } from './request-gate.ts';
import { kindOfError, NodeRefusal, textOfError } from './rpc-errors.ts';
import { SocketTransport } from './socket-transport.ts';
import { type OnEvent, RequestFailure, type RpcReply, type Transport } from './transport.ts';

export interface RpcLimits {
  /** After so many attempts a call without an answer fails. */
  readonly attempts: number;
  /** Wait before the second attempt. It doubles with each attempt. */
  readonly backoffMs: number;
  readonly timeoutMs: number;
  /** Largest answer, of a call or a batch. */
  readonly answerBytes: number;
  readonly signal?: AbortSignal;
}

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
  /** For a call that opens a subscription. */
  readonly onEvent?: OnEvent;
}

/** The result of a call, or the error: `NodeRefusal` if the node answered with an error. */
export type RpcAnswer = { readonly result: unknown } | { readonly error: ProductError };

export interface CallOptions {
  readonly attempts?: number;
  /** Multiplies the time limit. */
  readonly timeoutFactor?: number;
}

interface PendingCall extends RpcCall {
  answer?: RpcAnswer;
}

/** Enough for the blocks and events of 100 heights. */
const BATCH_CALLS = 256;
const WAIT_MS_MAX = 30_000;
/** A longer wait that a node requests fails at once. */
const REQUESTED_WAIT_MS_MAX = 120_000;
/** Attempts after which an internal error is final. */
const PASSING_ATTEMPTS = 3;

/**
 * A client of JSON-RPC 2.0 over WebSocket or HTTP. Retries calls of a batch without an answer, in halves. If the node
 * limits the rate, all requests to its host wait.
 */
export class NodeRpc {
  /** For messages, because the address may hold a key. */
  readonly host: string;
  /** Whether requests use a WebSocket. */
  readonly takesSubscriptions: boolean;
  readonly #transport: Transport;
  readonly #limits: RpcLimits;
  readonly #secrets: readonly string[];
  /** Calls per batch, adapted to the answers so far. */
  #callsMax = BATCH_CALLS;
  /** Upper limit of `#callsMax`. Halved when the node refuses a batch. */
  #callsCap = BATCH_CALLS;
  readonly #gate: RequestGate;
  #nextId = 1;

  constructor(address: string, limits: RpcLimits) {
    const url = new URL(address);
    this.host = url.host;
    this.#gate = gateOf(url.host);
    this.#secrets = secretsOf(url);
    this.#limits = limits;
    this.takesSubscriptions = /^wss?:$/.test(url.protocol);
    this.#transport = this.takesSubscriptions
      ? new SocketTransport(url, limits)
      : new HttpTransport(url, limits);
  }

  /** The result of one call. Throws `NodeRefusal` if the node answers with an error. */
  async call(method: string, params: readonly unknown[] = [], options: CallOptions = {}): Promise<unknown> {
    const [answer] = await this.batch([{ method, params }], options);
    return resultOf(answer as RpcAnswer);
  }

  /** Opens a subscription over WebSocket. Returns the result that `onEvent` returns for the last event. */
  async subscribe(call: Required<RpcCall>, options: CallOptions = {}): Promise<unknown> {
    const [answer] = await this.batch([call], options);
    return resultOf(answer as RpcAnswer);
  }

  /** Returns an answer for each call, in order. */
  async batch(calls: readonly RpcCall[], options: CallOptions = {}): Promise<RpcAnswer[]> {
    const pending: PendingCall[] = calls.map((call) => ({ ...call }));
    await this.#ask(pending, 1, options);
    return pending.map(({ answer }) => answer as RpcAnswer);
  }

  async #ask(calls: readonly PendingCall[], attempt: number, options: CallOptions): Promise<void> {
    const parts = partsOf(calls, this.#callsMax);
    if (parts.length !== 1)
      return void (await Promise.all(parts.map((part) => this.#ask(part, attempt, options))));
    const { attempts = this.#limits.attempts, timeoutFactor = 1 } = options;
    const failure = await this.#gate.pass(
      () => this.#attempt(calls, attempt >= Math.min(PASSING_ATTEMPTS, attempts), timeoutFactor),
      this.#limits.signal,
    );
    if (failure === null) return;
    const unanswered = calls.filter(({ answer }) => answer === undefined);
    const isSmaller = failure.kind === 'large' && unanswered.length > 1;
    const isOver =
      failure.kind === 'refused' ||
      failure.waitMs > REQUESTED_WAIT_MS_MAX ||
      (!isSmaller && (attempt >= attempts || failure.kind === 'large'));
    if (isOver) {
      for (const call of unanswered) call.answer = { error: failure };
      return;
    }
    if (!isSmaller) await this.#wait(failure, attempt);
    const halves = partsOf(unanswered, Math.ceil(unanswered.length / 2));
    await Promise.all(halves.map((half) => this.#ask(half, isSmaller ? attempt : attempt + 1, options)));
  }

  /** Sends the calls once. Returns the failure if some calls have no answer, or null. */
  async #attempt(
    calls: readonly PendingCall[],
    isLastAttempt: boolean,
    timeoutFactor: number,
  ): Promise<RequestFailure | null> {
    const first = this.#nextId;
    this.#nextId += calls.length;
    const requests = calls.map(({ answer: _, ...call }, i) => ({ id: first + i, ...call }));
    try {
      const replies = await this.#transport.exchange(requests, this.#limits.timeoutMs * timeoutFactor);
      const failure = this.#take(calls, first, replies, isLastAttempt);
      if (failure === null) {
        this.#callsMax = Math.min(this.#callsCap, Math.ceil(this.#callsMax * 1.1));
        this.#gate.widen();
      } else if (failure.kind === 'busy') this.#sendLess(calls);
      return failure;
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      this.#sendLess(calls);
      return new RequestFailure(error.kind, this.#about(error.message), error.waitMs);
    }
  }

  #sendLess({ length }: readonly PendingCall[]): void {
    this.#callsMax = Math.max(1, Math.ceil(length / 2));
  }

  /** Assigns replies to calls. Returns the failure if some calls have no final reply, or null. */
  #take(
    calls: readonly PendingCall[],
    first: number,
    replies: readonly RpcReply[],
    isLastAttempt: boolean,
  ): RequestFailure | null {
    let failure: RequestFailure | null = null;
    for (const { id, result, error } of replies) {
      const call = calls.length === 1 ? calls[0] : calls[(id ?? Number.NaN) - first];
      if (error === undefined) {
        if (call) call.answer = { result };
        continue;
      }
      const kind = kindOfError(error);
      const text = this.#about(textOfError(error));
      if (kind === 'busy') failure = new RequestFailure('busy', text);
      else if (calls.length > 1 && (call === undefined || kind === 'calls' || kind === 'bytes')) {
        if (kind !== 'bytes') this.#callsCap = Math.ceil(calls.length / 2);
        failure = new RequestFailure('large', text);
      } else if (kind === 'passing' && !isLastAttempt) failure ??= new RequestFailure('lost', text);
      else if (call) call.answer = { error: new NodeRefusal(text, kind === 'pruned') };
    }
    if (calls.every(({ answer }) => answer !== undefined)) return null;
    return failure ?? new RequestFailure('lost', this.#about('did not answer all calls of a batch'));
  }

  async #wait({ kind, waitMs }: RequestFailure, attempt: number): Promise<void> {
    const doubledMs = this.#limits.backoffMs * 2 ** (attempt - 1) * (1 + Math.random());
    const ms = Math.max(waitMs, Math.min(WAIT_MS_MAX, doubledMs));
    if (kind === 'busy') return this.#gate.hold(ms);
    const { signal } = this.#limits;
    await setTimeout(ms, undefined, signal === undefined ? {} : { signal });
  }

  /** Adds the host to a message, and removes parts of the address that may be keys. */
  #about(text: string): string {
    return `${this.host} ${this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text)}`;
  }
}

/** The part of `NodeRpc` for batches. */
export type BatchRpc = Pick<NodeRpc, 'host' | 'batch'>;

export function resultOf(answer: RpcAnswer): unknown {
  if ('error' in answer) throw answer.error;
  return answer.result;
}

/** Splits a list into parts of at most `max` elements. */
function partsOf<T>(list: readonly T[], max: number): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < list.length; at += max) parts.push(list.slice(at, at + max));
  return parts;
}

const SECRET_CHARACTERS_MIN = 6;

/** Providers take keys as username, password, part of the path or parameter. */
function secretsOf({ username, password, pathname, searchParams }: URL): string[] {
  const written = [username, password, ...pathname.split('/'), ...searchParams.values()];
  // An answer may contain a part as in the address, or decoded or encoded.
  return written
    .flatMap((part) => [part, decoded(part), encodeURIComponent(part)])
    .filter(({ length }) => length >= SECRET_CHARACTERS_MIN);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // The part has a percent sign that encodes nothing.
    return part;
  }
}
