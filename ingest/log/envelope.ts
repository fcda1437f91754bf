import { z } from 'zod';
import { jsonLine } from '../../infra/clickhouse/settings.ts';
import { firstFault, shapeError } from '../../infra/shape-error.ts';
import type { Chain } from '../chains/chain.ts';
import { placeOfSnapshot, type Registry } from '../chains/registry.ts';
import { findIncompleteness } from '../decode/completeness.ts';
import { mayBeRewritten, parseAsWritten, parseExact } from '../decode/json.ts';
import { asRecord } from '../decode/names.ts';
import { normaliseBlock } from '../decode/normalise.ts';
import { SNAPSHOT_KINDS } from '../decode/snapshot.ts';
import { describeReadError } from './refusal.ts';

/** Where a line came from, for dead letters and provenance. */
export interface Origin {
  readonly source: string;
  readonly origin: string;
  readonly line: number;
  /** Id of the ingest run that read the line, if that run reports its result. */
  readonly run?: string;
}

/** A line as the log carries it. */
export interface Envelope {
  readonly topic: 'blocks' | 'snapshots';
  readonly key: string;
  readonly value: Buffer;
  /** Bytes of the value. */
  readonly size: number;
}

/** Reads the origin in a message. Invalid fields get defaults, since any producer may write to the log. */
export function readOrigin(given: unknown, topic: string): Origin {
  const { source, origin, line, run } = asRecord(given) ?? {};
  return {
    source: typeof source === 'string' ? source : 'log',
    origin: typeof origin === 'string' ? origin : topic,
    line: isLine(line) ? line : 0,
    ...(typeof run === 'string' ? { run } : {}),
  };
}

const isLine = (line: unknown): line is number => Number.isSafeInteger(line) && (line as number) >= 0;

export type ReadResult = Envelope | { readonly refused: string };

/** The beginning of a block as Sidecar writes it. The bytes of such a line are copied without parsing. */
const BARE_BLOCK = /^\{"number":"?(\d{1,18})"?,"hash":"0x[0-9a-fA-F]{64}","parentHash":"0x[0-9a-fA-F]{64}",/;
const HEAD_BYTES = 256;
const EXTRINSICS = Buffer.from('"extrinsics":[');
const CLOSE = Buffer.from('}');

/** Blocks of this many consecutive heights share a key, and so a partition. */
const HEIGHTS_PER_KEY = 64n;

/** Turns an error into a refusal: reading a line or an envelope never throws. */
function orRefused(read: () => ReadResult): ReadResult {
  try {
    return read();
  } catch (error) {
    return { refused: describeReadError(error) };
  }
}

/** Reads one line of input: a bare Sidecar block of `chain`, or an envelope that names its chain. */
export function readLine(
  line: Buffer,
  chain: Chain | undefined,
  registry: Registry,
  origin: Origin,
): ReadResult {
  return orRefused(() => readAny(line, chain, registry, origin));
}

function readAny(line: Buffer, chain: Chain | undefined, registry: Registry, origin: Origin): ReadResult {
  if (chain) {
    const bare = BARE_BLOCK.exec(line.toString('latin1', 0, HEAD_BYTES));
    if (bare && line.at(-1) === 0x7d && line.includes(EXTRINSICS)) {
      return blockEnvelope(chain, bare[1] as string, line, origin);
    }
  }
  let document: unknown;
  try {
    document = parseLine(line.toString('utf8'));
  } catch (error) {
    return { refused: error instanceof SyntaxError ? NO_JSON : describeReadError(error) };
  }
  const record = asRecord(document);
  if (record === null) return { refused: NO_OBJECT };
  if (!('schema' in record) && !isEnvelope(record)) {
    if (!chain)
      return { refused: 'a bare block needs a chain: name the file after the chain or pass --chain' };
    return readBlock(record, chain, origin, {});
  }
  return readEnvelope(record, registry, origin);
}

/** Parses a line. Numbers in a block keep their notation, as if the bytes of the block were copied. */
export function parseLine(text: string): unknown {
  const document = parseExact(text);
  const record = asRecord(document);
  if (record === null || !mayBeRewritten(text)) return document;
  const written = parseAsWritten(text) as Record<string, unknown>;
  if (!('schema' in record)) return { ...written, number: record.number };
  const [block, payload] = [asRecord(record.payload), asRecord(written.payload)];
  if (record.schema !== BLOCK || block === null) return document;
  return { ...record, payload: { ...payload, number: block.number } };
}

/** A document with a chain and a payload is an envelope, even if its schema is missing. */
const isEnvelope = (record: Record<string, unknown>): boolean => 'payload' in record && 'chain' in record;

const BLOCK = 'block/1';
export const NO_JSON = 'not JSON';
export const NO_OBJECT = 'not a JSON object';

const LARGEST_VERSION = 2n ** 64n - 1n;
/** A string of decimal digits, or an integer. The parser returns a too large integer as a string of digits. */
const version = z
  .union([z.string(), z.int()], 'not a decimal string')
  .transform(String)
  .pipe(
    z
      .string()
      .regex(/^\d{1,20}$/, { error: 'not a decimal string', abort: true })
      .refine((text) => BigInt(text) <= LARGEST_VERSION, 'larger than 64 bits'),
  );
const head = z.object({
  chain: z.string(),
  relay_chain: z.string().nullish(),
  version: version.nullish(),
  is_deleted: z
    .union(
      [z.boolean(), z.literal(0), z.literal(1), z.literal('0'), z.literal('1')],
      'not true, false, 0 or 1',
    )
    .nullish(),
});

const NAME_CHARS_MAX = 100;
const shown = (text: string) => (text.length > NAME_CHARS_MAX ? `${text.slice(0, NAME_CHARS_MAX)}…` : text);
const kinds: ReadonlySet<unknown> = new Set(SNAPSHOT_KINDS);

/** Reads an envelope of any producer. */
export function readEnvelope(
  document: Record<string, unknown>,
  registry: Registry,
  origin: Origin,
): ReadResult {
  return orRefused(() => readValidEnvelope(document, registry, origin));
}

function readValidEnvelope(
  document: Record<string, unknown>,
  registry: Registry,
  origin: Origin,
): ReadResult {
  const { schema } = document;
  if (schema !== BLOCK && schema !== 'snapshot/1') {
    const given = schema === undefined ? 'missing' : `unknown ${shown(JSON.stringify(schema))}`;
    return { refused: `schema: ${given}; known are block/1 and snapshot/1` };
  }
  const read = head.safeParse(document, { error: shapeError });
  if (!read.success) return { refused: firstFault(read.error) };
  const { chain: name, relay_chain: relay, version } = read.data;
  const relay_chain = relay ?? undefined;
  const unknown = { refused: `chain: unknown ${shown(name)}${relay ? ` of ${shown(relay)}` : ''}` };
  if (schema === 'snapshot/1') {
    const { kind } = document;
    const place = placeOfSnapshot(registry, { kind, chain: name, relay_chain });
    if (!place) return unknown;
    const key = `${place.relay_chain}/${place.name}/${kinds.has(kind) ? kind : ''}`;
    const canonical = { ...document, relay_chain: place.relay_chain, chain: place.name, origin };
    const value = Buffer.from(JSON.stringify(canonical));
    return { topic: 'snapshots', key, value, size: value.length };
  }
  const chain = registry.find(name, relay_chain);
  if (!chain) return unknown;
  if (asRecord(document.payload) === null)
    return { refused: `payload: ${document.payload === undefined ? 'missing' : 'not an object'}` };
  const deleted = [true, 1, '1'].includes(read.data.is_deleted ?? 0);
  // A tombstone needs only the height.
  const payload = deleted ? { ...EMPTY_BLOCK, ...(document.payload as object) } : document.payload;
  return readBlock(payload, chain, origin, {
    ...(version ? { version } : {}),
    ...(deleted ? { is_deleted: 1 } : {}),
  });
}

const NO_HASH = `0x${'0'.repeat(64)}`;
const EMPTY_BLOCK = { hash: NO_HASH, parentHash: NO_HASH, extrinsics: [] };

function readBlock(payload: unknown, chain: Chain, origin: Origin, more: object): ReadResult {
  const block = normaliseBlock(payload);
  if ('refused' in block) return block;
  const lack = 'is_deleted' in more ? null : findIncompleteness(block.payload);
  if (lack !== null) return { refused: lack };
  return blockEnvelope(chain, block.number, Buffer.from(jsonLine(block.payload)), origin, more);
}

function blockEnvelope(
  chain: Chain,
  number: string,
  payload: Buffer,
  origin: Origin,
  more: object = {},
): BlockEnvelope {
  const { relay_chain, name } = chain;
  return new BlockEnvelope({ relay_chain, chain: name, number, ...more, ...origin }, payload);
}

/**
 * A block that this process publishes. The embedded log passes the object on; `value` is built only for a log that sends
 * bytes.
 */
export class BlockEnvelope implements Envelope {
  readonly topic = 'blocks';
  readonly head: BlockHead;
  readonly payload: Buffer;
  readonly #opening: Buffer;

  constructor(head: BlockHead, payload: Buffer) {
    this.head = head;
    this.payload = payload;
    const facts = JSON.stringify({ payload_last: true, schema: BLOCK, ...head });
    this.#opening = Buffer.from(`${facts.slice(0, -1)},"payload":`);
  }

  get key(): string {
    const { relay_chain, chain, number } = this.head;
    return `${relay_chain}/${chain}/${BigInt(number) / HEIGHTS_PER_KEY}`;
  }

  get size(): number {
    return this.#opening.length + this.payload.length + CLOSE.length;
  }

  get value(): Buffer {
    return Buffer.concat([this.#opening, this.payload, CLOSE], this.size);
  }
}

export interface BlockHead extends Origin {
  readonly relay_chain: string;
  readonly chain: string;
  readonly number: string;
  readonly version?: string;
  readonly is_deleted?: number;
}

/** Marks envelopes of our own producer: their payload is the last key, so it can be cut out without parsing. */
const PAYLOAD_LAST = Buffer.from('{"payload_last":true,');
const PAYLOAD = Buffer.from(',"payload":{');
const HEAD_BYTES_MAX = 8192;
const HEIGHT = /^\{"number":"?(\d{1,18})\b/;
const HEIGHT_BYTES = 40;

/** Splits an envelope of our own producer into head and payload bytes; null for other producers. */
export function splitEnvelope(value: Buffer): { head: BlockHead; payload: Buffer } | null {
  if (!value.subarray(0, PAYLOAD_LAST.length).equals(PAYLOAD_LAST)) return null;
  const at = value.subarray(0, HEAD_BYTES_MAX).indexOf(PAYLOAD);
  const head = at < 0 ? null : readHead(`${value.toString('utf8', 0, at)}}`);
  const payload = value.subarray(at + PAYLOAD.length - 1, value.length - 1);
  const [, height] = HEIGHT.exec(payload.toString('latin1', 0, HEIGHT_BYTES)) ?? [];
  return head && head.number === height ? { head, payload } : null;
}

const ownHead = z.looseObject({
  relay_chain: z.string(),
  chain: z.string(),
  number: z.string(),
  version: version.optional(),
  is_deleted: z.literal(1).optional(),
  source: z.string(),
  origin: z.string(),
  line: z.int().nonnegative(),
  run: z.string().optional(),
});

/** Validates the head: any producer may write the mark `payload_last`. */
function readHead(text: string): BlockHead | null {
  try {
    const read = ownHead.safeParse(JSON.parse(text));
    return read.success ? (read.data as BlockHead) : null;
  } catch {
    // The message is then read like one of another producer.
    return null;
  }
}
