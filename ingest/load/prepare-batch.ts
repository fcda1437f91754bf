import { setImmediate } from 'node:timers/promises';
import { chunkBySize } from '../../infra/chunk.ts';
import { messageSize } from '../../infra/message-size.ts';
import type { Message, Pieces, Traceparent } from '../../infra/ports.ts';
import { causesOf } from '../../infra/tracing/messages.ts';
import type { Registry } from '../chains/registry.ts';
import { type DeadLetter, deadLetterOf } from '../dead-letters/dead-letters.ts';
import { parseAsWritten } from '../decode/json.ts';
import { asRecord } from '../decode/names.ts';
import {
  BlockEnvelope,
  type BlockHead,
  NO_JSON,
  NO_OBJECT,
  type Origin,
  parseLine,
  readEnvelope,
  readOrigin,
  splitEnvelope,
} from '../log/envelope.ts';
import { describeReadError } from '../log/refusal.ts';
import { type Stream, TOPICS } from '../log/topics.ts';
import { blockLine, contentHash, snapshotLine } from '../raw/landing-lines.ts';

/** A line of a landing table. */
export interface LandingLine {
  /** Position in the batch. The sequence of the line is the first sequence of the batch plus this position. */
  readonly index: number;
  readonly bytes: Pieces;
  readonly head: Pick<BlockHead, 'relay_chain' | 'chain' | 'number' | 'is_deleted'> & Origin;
  readonly original: Buffer;
  /** The hash of a block's content; absent if an earlier process staged the line. */
  readonly content?: bigint;
  /** Returns the block in the layout of the landing table. Used if the store refuses the layout of the source. */
  readonly normalised?: () => Pieces | { refused: string };
}

type Landing = LandingLine | { readonly refused: DeadLetter };

/** A message whose nested calls are not decoded yet. Decoding takes most of the time, and stored blocks do not need it. */
export interface ReadMessage extends Pick<LandingLine, 'head' | 'content'> {
  /** Returns the decoded line. Decodes it at the first call. */
  readonly landing: () => Landing;
}

export interface PreparedBatch {
  readonly lines: readonly ReadMessage[];
  readonly deadLetters: readonly DeadLetter[];
  readonly messages: number;
  readonly bytes: number;
  /** The distinct spans that published the messages. */
  readonly causes: readonly Traceparent[];
}

type Prepared = ReadMessage | { readonly refused: DeadLetter };

/** Bytes between two yields to the event loop, which take a few milliseconds. */
const SLICE_BYTES = 2 ** 20;

/**
 * Reads messages of the log while the previous batch is loaded. Decodes them unless `isLikelyStored`.
 */
export async function prepareBatch(
  stream: Stream,
  messages: readonly Message[],
  registry: Registry,
  isLikelyStored = false,
): Promise<PreparedBatch> {
  const prepared: Prepared[] = [];
  for (const slice of chunkBySize(messages, SLICE_BYTES, messageSize)) {
    if (prepared.length > 0) await setImmediate();
    for (const message of slice) {
      const line = prepare(stream, message, prepared.length, registry);
      if (!isLikelyStored && !('refused' in line)) line.landing();
      prepared.push(line);
    }
  }
  const lines = prepared.flatMap((line) => ('refused' in line ? [] : [line]));
  return {
    lines,
    deadLetters: prepared.flatMap((line) => ('refused' in line ? [line.refused] : [])),
    messages: messages.length,
    bytes: messages.reduce((sum, message) => sum + messageSize(message), 0),
    causes: causesOf(messages),
  };
}

function prepare(stream: Stream, message: Message, index: number, registry: Registry): Prepared {
  const { refused } = message;
  if (refused !== undefined) {
    const origin = readOrigin(undefined, TOPICS[stream]);
    return { refused: deadLetterOf(TOPICS[stream], origin, refused, message.value) };
  }
  const prepareOne = stream === 'blocks' ? prepareBlock : prepareSnapshot;
  return orRefused(stream, message, () => prepareOne(message, index, registry));
}

/** Turns an error into a dead letter, so that one message does not stop the others of its batch. */
function orRefused<Result>(stream: Stream, message: Message, read: () => Result) {
  try {
    return read();
  } catch (error) {
    const origin = readOrigin(undefined, TOPICS[stream]);
    return { refused: deadLetterOf(TOPICS[stream], origin, describeReadError(error), message.value) };
  }
}

function prepareBlock(message: Message, index: number, registry: Registry): Prepared {
  const split = message instanceof BlockEnvelope ? message : blockIn(message.value, registry);
  if ('refused' in split) return split;
  const { payload } = split;
  const chain = registry.find(split.head.chain, split.head.relay_chain);
  if (!chain)
    return {
      refused: deadLetterOf(TOPICS.blocks, split.head, `chain: unknown ${split.head.chain}`, message.value),
    };
  const head = { ...split.head, relay_chain: chain.relay_chain, chain: chain.name };
  const content = contentHash(head, chain, payload);
  const decode = (): LandingLine => ({
    index,
    head,
    content,
    original: payload,
    bytes: blockLine(index, head, chain, payload),
    normalised: () => {
      try {
        const document = { ...head, schema: 'block/1', payload: parseAsWritten(payload.toString('utf8')) };
        const read = readEnvelope(document, registry, head);
        if ('refused' in read) return read;
        return read instanceof BlockEnvelope
          ? blockLine(index, read.head, chain, read.payload)
          : { refused: NO_BLOCK };
      } catch (error) {
        return { refused: error instanceof SyntaxError ? NO_JSON : describeReadError(error) };
      }
    },
  });
  let landing: Landing | undefined;
  return { head, content, landing: () => (landing ??= orRefused('blocks', message, decode)) };
}

const blockIn = (value: Buffer, registry: Registry) =>
  splitEnvelope(value) ?? readForeignEnvelope(value, registry);

function prepareSnapshot({ value }: Message, index: number, registry: Registry): Prepared {
  const line = snapshotLine(index, value, registry);
  if ('refused' in line) return { refused: deadLetterOf(TOPICS.snapshots, line.origin, line.refused, value) };
  const head = { ...line.head, number: '0', ...line.origin };
  return { head, landing: () => ({ index, head, original: value, bytes: line.bytes }) };
}

/** An envelope that another program published on the log. */
function readForeignEnvelope(
  value: Buffer,
  registry: Registry,
): { head: BlockHead; payload: Buffer } | { refused: DeadLetter } {
  const origin = readOrigin(undefined, TOPICS.blocks);
  const refused = (reason: string) => ({ refused: deadLetterOf(TOPICS.blocks, origin, reason, value) });
  let document: unknown;
  try {
    document = parseLine(value.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return refused(NO_JSON);
    throw error;
  }
  const record = asRecord(document);
  if (record === null) return refused(NO_OBJECT);
  const read = readEnvelope(record, registry, origin);
  if ('refused' in read) return refused(read.refused);
  return read instanceof BlockEnvelope ? read : refused(NO_BLOCK);
}

const NO_BLOCK = 'no block';
