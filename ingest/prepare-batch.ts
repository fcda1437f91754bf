import type { Message, Pieces } from '../infra/ports.ts';
import type { Registry } from './chains/registry.ts';
import { parseExact } from './decode/json.ts';
import { type DeadLetter, deadLetterOf } from './log/dead-letters.ts';
import { type BlockHead, type Origin, readEnvelope, splitEnvelope } from './log/envelope.ts';
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
}

type Prepared = LandingLine | { refused: DeadLetter };

/** Decodes messages of the log; done for the next batch while the one before is loaded. */
export function prepareBatch(
  stream: Stream,
  messages: readonly Message[],
  registry: Registry,
): PreparedBatch {
  const prepare = stream === 'blocks' ? prepareBlock : prepareSnapshot;
  const prepared = messages.map(({ value }, index) => prepare(value, index, registry));
  return {
    lines: prepared.flatMap((line) => ('refused' in line ? [] : [line])),
    deadLetters: prepared.flatMap((line) => ('refused' in line ? [line.refused] : [])),
    messages: messages.length,
    bytes: messages.reduce((sum, { value }) => sum + value.length, 0),
  };
}

function prepareBlock(value: Buffer, index: number, registry: Registry): Prepared {
  const split = splitEnvelope(value) ?? readForeignEnvelope(value, registry);
  if ('refused' in split) return split;
  const { head, payload } = split;
  const chain = registry.find(head.chain, head.relay_chain);
  if (!chain) return { refused: deadLetterOf(TOPICS.blocks, head, `chain: unknown ${head.chain}`, value) };
  return {
    index,
    head,
    original: payload,
    bytes: blockLine(index, head, chain, payload),
    normalised: () => {
      const document = { ...head, schema: 'block/1', payload: parseOrNull(payload) };
      const read = readEnvelope(document, registry, head);
      if ('refused' in read) return read;
      const again = splitEnvelope(read.value);
      return again ? blockLine(index, again.head, chain, again.payload) : { refused: NO_BLOCK };
    },
  };
}

function prepareSnapshot(value: Buffer, index: number, registry: Registry): Prepared {
  const line = snapshotLine(index, value, registry);
  if ('refused' in line) return { refused: deadLetterOf(TOPICS.snapshots, line.origin, line.refused, value) };
  return { index, head: { ...line.head, number: '0', ...line.origin }, original: value, bytes: line.bytes };
}

/** An envelope that another program published on the log. */
function readForeignEnvelope(
  value: Buffer,
  registry: Registry,
): { head: BlockHead; payload: Buffer } | { refused: DeadLetter } {
  const origin = { source: 'log', origin: TOPICS.blocks, line: 0 };
  const document = parseOrNull(value);
  const read =
    typeof document === 'object' && document !== null
      ? readEnvelope(document as Record<string, unknown>, registry, origin)
      : { refused: 'not JSON' };
  const split = 'refused' in read ? null : splitEnvelope(read.value);
  const reason = 'refused' in read ? read.refused : NO_BLOCK;
  return split ?? { refused: deadLetterOf(TOPICS.blocks, origin, reason, value) };
}

const NO_BLOCK = 'no block';

function parseOrNull(bytes: Buffer): unknown {
  try {
    return parseExact(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
