import { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import { ignore } from '../../infra/ignore.ts';
import { blockHash, hex, parseResult } from './answers.ts';
import { archivedPages, archivedValue } from './archive-storage.ts';
import { bytesOf, Cursor, Undecodable } from './decode/cursor.ts';
import { headerOfScale } from './decode/header.ts';
import type { MapPage } from './map-pages.ts';
import { type CallOptions, type NodeRpc, type RpcAnswer, type RpcCall, resultOf } from './rpc.ts';
import { kindOfError, NodeRefusal, textOfError } from './rpc-errors.ts';
import type { OnEvent } from './transport.ts';

const callAnswer = z
  .discriminatedUnion('success', [
    z.object({ success: z.literal(true), value: hex }),
    z.object({ success: z.literal(false), error: z.unknown() }),
  ])
  .nullable();
const followEvent = z.union([
  z.object({ event: z.literal('bestBlockChanged'), bestBlockHash: blockHash }),
  z.object({ event: z.string() }),
]);
const INTERNAL_ERROR = -32603;

/**
 * Translates `chain_` and `state_` calls for a node that has only `archive_v1_` and `chainHead_v1_` methods. Needs a
 * WebSocket, because storage comes by subscription.
 */
export class ArchiveRpc {
  readonly host: string;
  readonly #rpc: NodeRpc;

  constructor(rpc: NodeRpc) {
    this.host = rpc.host;
    this.#rpc = rpc;
  }

  async call(method: string, params: readonly unknown[] = [], options: CallOptions = {}): Promise<unknown> {
    const [answer] = await this.batch([{ method, params }], options);
    return resultOf(answer as RpcAnswer);
  }

  async batch(calls: readonly RpcCall[], options: CallOptions = {}): Promise<RpcAnswer[]> {
    const round = new Round(this.#rpc, options);
    return Promise.all(calls.map(({ method, params }) => answerOf(round.result(method, params))));
  }

  mapPages(prefix: string, hash: string, of: 'keys' | 'values'): AsyncIterable<MapPage> {
    return archivedPages(this.#rpc, { prefix, hash, of });
  }
}

async function answerOf(result: Promise<unknown>): Promise<RpcAnswer> {
  try {
    return { result: await result };
  } catch (error) {
    if (error instanceof ProductError) return { error };
    if (error instanceof Undecodable) return { error: new ProductError('source_failed', error.message) };
    throw error;
  }
}

interface WaitingCall extends RpcCall {
  readonly resolve: (answer: RpcAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends the requests of one turn of the event loop in one batch. */
class Round {
  readonly #rpc: NodeRpc;
  readonly #options: CallOptions;
  #waiting: WaitingCall[] = [];

  constructor(rpc: NodeRpc, options: CallOptions) {
    this.#rpc = rpc;
    this.#options = options;
  }

  /** Returns the result of a `chain_` or `state_` call. Passes other calls to the node unchanged. */
  async result(method: string, params: readonly unknown[]): Promise<unknown> {
    const [first, second, third] = params as string[];
    switch (method) {
      case 'chain_getBlockHash':
        if (Array.isArray(first)) return Promise.all(first.map((height) => this.#hashAt(height)));
        return first === undefined ? this.#bestHash() : this.#hashAt(Number(first));
      case 'chain_getFinalizedHead':
        return this.#finalizedHash();
      case 'chain_getHeader':
        return this.#header(first);
      case 'chain_getBlock':
        return this.#block(first);
      case 'state_getStorage':
        return archivedValue(this.#rpc, { key: first as string, hash: second as string }, this.#options);
      case 'state_getRuntimeVersion':
        return versionOf(await this.#callRuntime('Core_version', '0x', first));
      case 'state_getMetadata':
        return metadataOf(await this.#callRuntime('Metadata_metadata', '0x', first));
      case 'state_call':
        return this.#callRuntime(first as string, second as string, third);
      default:
        return this.#ask(z.unknown(), method, ...params);
    }
  }

  /** Null if a height has several blocks, because the node does not mark the best one. */
  async #hashAt(height: number): Promise<string | null> {
    const [hash = null, ...others] = await this.#ask(z.array(blockHash), 'archive_v1_hashByHeight', height);
    return others.length === 0 ? hash : null;
  }

  async #finalizedHash(): Promise<string | null> {
    return this.#hashAt(await this.#ask(z.int().min(0), 'archive_v1_finalizedHeight'));
  }

  async #bestHash(): Promise<unknown> {
    const height = await this.#ask(z.int().min(0), 'archive_v1_finalizedHeight');
    const above = await this.#ask(z.array(blockHash), 'archive_v1_hashByHeight', height + 1);
    // While the best block is the finalized block, a node sends no event about it.
    return above.length === 0 ? this.#hashAt(height) : this.#followedHash();
  }

  /** Follows the head until the node sends its best block. */
  async #followedHash(): Promise<unknown> {
    let followed: unknown;
    const onEvent: OnEvent = (message, subscription) => {
      followed = subscription;
      const { data: event } = followEvent.safeParse(message);
      if (event && 'bestBlockHash' in event) return { result: event.bestBlockHash };
      return event?.event === 'stop' ? { error: { code: INTERNAL_ERROR, message: 'stopped' } } : undefined;
    };
    try {
      const call = { method: 'chainHead_v1_follow', params: [false], onEvent };
      return await this.#rpc.subscribe(call, { ...this.#options, attempts: 1 });
    } finally {
      // A node allows few subscriptions.
      if (followed !== undefined)
        void this.#rpc.call('chainHead_v1_unfollow', [followed]).catch(ignore('ingest.node'));
    }
  }

  async #header(hash: unknown) {
    const scale = await this.#ask(hex.nullable(), 'archive_v1_header', hash);
    return scale === null ? null : headerOfScale(scale);
  }

  async #block(hash: unknown) {
    const body = this.#ask(z.unknown(), 'archive_v1_body', hash);
    const [header, extrinsics] = await Promise.all([this.#header(hash), body]);
    return header === null || extrinsics === null ? null : { block: { header, extrinsics } };
  }

  async #callRuntime(name: string, params: string, hash: unknown): Promise<string> {
    const at = hash ?? (await this.#finalizedHash());
    const answer = await this.#ask(callAnswer, 'archive_v1_call', at, name, params);
    if (answer?.success) return answer.value;
    const message = answer === null ? `UnknownBlock: ${at}` : `refused ${name}`;
    const error = { code: 0, message, data: answer?.error };
    throw new NodeRefusal(`${this.#rpc.host} ${textOfError(error)}`, kindOfError(error) === 'pruned');
  }

  async #ask<T>(schema: z.ZodType<T>, method: string, ...params: readonly unknown[]): Promise<T> {
    if (this.#waiting.length === 0) queueMicrotask(() => void this.#send(this.#waiting));
    const answer = await new Promise<RpcAnswer>((resolve, reject) => {
      this.#waiting.push({ method, params, resolve, reject });
    });
    return parseResult(schema, answer, this.#rpc.host);
  }

  async #send(calls: readonly WaitingCall[]): Promise<void> {
    this.#waiting = [];
    try {
      const plain = calls.map(({ method, params }) => ({ method, params }));
      const answers = await this.#rpc.batch(plain, this.#options);
      for (const [i, { resolve }] of calls.entries()) resolve(answers[i] as RpcAnswer);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}

/** Reads the beginning of a `RuntimeVersion`. */
function versionOf(scale: string) {
  const cursor = new Cursor(bytesOf(scale));
  const name = () => {
    const from = cursor.advance(cursor.length());
    return cursor.bytes.toString('utf8', from, cursor.at);
  };
  const specName = name();
  name();
  cursor.u32();
  return { specName, specVersion: cursor.u32() };
}

/** The bytes of an `OpaqueMetadata`, without their length. */
function metadataOf(scale: string): string {
  const cursor = new Cursor(bytesOf(scale));
  const from = cursor.advance(cursor.length());
  return `0x${cursor.bytes.toString('hex', from, cursor.at)}`;
}
