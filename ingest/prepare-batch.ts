import type { Message, Pieces } from '../infra/ports.ts';
import { causesOf } from '../infra/tracing/messages.ts';
import type { Traceparent } from '../infra/tracing/tracer.ts';
import type { Registry } from './chains/registry.ts';
import { parseExact } from './decode/json.ts';
import { recordOf } from './decode/names.ts';
import { type DeadLetter, deadLetterOf } from './log/dead-letters.ts';
import {
  BlockEnvelope,
  type BlockHead,
  NO_JSON,
  NO_OBJECT,
  type Origin,
  readEnvelope,
  readOrigin,
  splitEnvelope,
} from './log/envelope.ts';
import { refusalOf } from './log/refusal.ts';
import { type Stream, TOPICS } from './log/topics.ts';
import { blockLine, snapshotLine } from './raw/landing-lines.ts';

/** A line of a landing table. */
export interface LandingLine {
  /** Position in the batch: the sequence numbers of a statement are counted from it. */
  readonly index: number;
  readonly bytes: Pieces;
  readonly head: Pick<BlockHead, 'relay_chain' | 'chain' | 'number'> & Origin;
  readonly original: Buffer;
  /** The same block in the layout of the landing table, for when the store refuses the source's own layout. */
  readonly normalised?: () => Pieces | { refused: string };
}

/** Messages of the log as lines of a landing table. */
export interface PreparedBatch {
  readonly lines: readonly LandingLine[];
  readonly deadLetters: readonly DeadLetter[];
  readonly messages: number;
  readonly bytes: number;
  /** The spans that published them, each once. */
  readonly causes: readonly Traceparent[];
}

type Prepared = LandingLine | { refused: DeadLetter };

/** Decodes messages of the log; done for the next batch while the one before is loaded. */
export function prepareBatch(
  stream: Stream,
  messages: readonly Message[],
  registry: Registry,
): PreparedBatch {
  const prepare = orRefused(stream, stream === 'blocks' ? prepareBlock : prepareSnapshot);
  const prepared = messages.map((message, index) => {
    const { refused } = message;
    if (refused === undefined) return prepare(message, index, registry);
    const origin = readOrigin(undefined, TOPICS[stream]);
    return { refused: deadLetterOf(TOPICS[stream], origin, refused, message.value) };
  });
  return {
    lines: prepared.flatMap((line) => ('refused' in line ? [] : [line])),
    deadLetters: prepared.flatMap((line) => ('refused' in line ? [line.refused] : [])),
    messages: messages.length,
    bytes: messages.reduce((sum, message) => sum + sizeOf(message), 0),
    causes: causesOf(messages),
  };
}

const sizeOf = (message: Message) => (message instanceof BlockEnvelope ? message.size : message.value.length);

type Prepare = (message: Message, index: number, registry: Registry) => Prepared;

/** What one message holds must not keep the others of its batch from being loaded. */
const orRefused =
  (stream: Stream, prepare: Prepare): Prepare =>
  (message, index, registry) => {
    try {
      return prepare(message, index, registry);
    } catch (error) {
      const origin = readOrigin(undefined, TOPICS[stream]);
      return { refused: deadLetterOf(TOPICS[stream], origin, refusalOf(error), message.value) };
    }
  };

function prepareBlock(message: Message, index: number, registry: Registry): Prepared {
  const split = message instanceof BlockEnvelope ? message : blockIn(message.value, registry);
  if ('refused' in split) return split;
  const { head, payload } = split;
  const chain = registry.find(head.chain, head.relay_chain);
  if (!chain)
    return { refused: deadLetterOf(TOPICS.blocks, head, `chain: unknown ${head.chain}`, message.value) };
  return {
    index,
    head,
    original: payload,
    bytes: blockLine(index, head, chain, payload),
    normalised: () => {
      try {
        const document = { ...head, schema: 'block/1', payload: parseExact(payload.toString('utf8')) };
        const read = readEnvelope(document, registry, head);
        if ('refused' in read) return read;
        return read instanceof BlockEnvelope
          ? blockLine(index, read.head, chain, read.payload)
          : { refused: NO_BLOCK };
      } catch (error) {
        return { refused: error instanceof SyntaxError ? NO_JSON : refusalOf(error) };
      }
    },
  };
}

const blockIn = (value: Buffer, registry: Registry) =>
  splitEnvelope(value) ?? readForeignEnvelope(value, registry);

function prepareSnapshot({ value }: Message, index: number, registry: Registry): Prepared {
  const line = snapshotLine(index, value, registry);
  if ('refused' in line) return { refused: deadLetterOf(TOPICS.snapshots, line.origin, line.refused, value) };
  return { index, head: { ...line.head, number: '0', ...line.origin }, original: value, bytes: line.bytes };
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
    document = parseExact(value.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return refused(NO_JSON);
    throw error;
  }
  const record = recordOf(document);
  if (record === null) return refused(NO_OBJECT);
  const read = readEnvelope(record, registry, origin);
  if ('refused' in read) return refused(read.refused);
  return read instanceof BlockEnvelope ? read : refused(NO_BLOCK);
}

const NO_BLOCK = 'no block';
