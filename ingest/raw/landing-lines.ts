import { createHash } from 'node:crypto';
import { jsonLine } from '../../infra/clickhouse/settings.ts';
import type { Chain } from '../chains/chain.ts';
import { placeOfSnapshot, type Registry } from '../chains/registry.ts';
import { type DecodedBlock, decodeBlock, decodeExtrinsics } from '../decode/calls.ts';
import { isFactCall } from '../decode/fact-calls.ts';
import { parseExact } from '../decode/json.ts';
import { asRecord } from '../decode/names.ts';
import { extrinsicsToParse, mayHoldNestedCalls } from '../decode/scan.ts';
import { parseSnapshot } from '../decode/snapshot.ts';
import { type BlockHead, NO_JSON, NO_OBJECT, type Origin, readOrigin } from '../log/envelope.ts';
import { describeReadError } from '../log/refusal.ts';
import { TOPICS } from '../log/topics.ts';
import { DECODER_VERSIONS } from './decoders.ts';
import { NO_PREFIX } from './parse-sql.ts';

const CLOSE = Buffer.from('}');
const NO_FACTS = { calls: [], wrappers: [], domains: [], senders: [], refused: [] };
const CONTENT_HEX_CHARS = 32;

const prefixOf = (chain: Chain) => (chain.accounts === 'ss58' ? chain.ss58_prefix : NO_PREFIX);

/** A hash of everything that determines the rows of a block, except for its source and the time of reading. */
export function contentHash(
  { version = '', is_deleted = 0 }: Pick<BlockHead, 'version' | 'is_deleted'>,
  chain: Chain,
  payload: Buffer,
): bigint {
  const beside = JSON.stringify([DECODER_VERSIONS.blocks, prefixOf(chain), version, is_deleted]);
  const hash = createHash('sha256').update(beside).update(payload).digest('hex');
  return BigInt(`0x${hash.slice(0, CONTENT_HEX_CHARS)}`);
}

/**
 * A block as a line of its landing table: columns that SQL cannot compute, then the bytes of the payload. Parses only
 * extrinsics whose bytes may contain nested calls or Ethereum payloads.
 */
export function blockLine(index: number, head: BlockHead, chain: Chain, payload: Buffer): readonly Buffer[] {
  const row = {
    sequence: index,
    relay_chain: chain.relay_chain,
    chain: chain.name,
    prefix: prefixOf(chain),
    version: head.version ?? '',
    is_deleted: head.is_deleted ?? 0,
    source: head.source,
    run: head.run ?? '',
    // Always writes all keys: the store uses the first of equal keys, so that a payload cannot add facts.
    ...NO_FACTS,
    ...(mayHoldNestedCalls(payload) ? decodedFacts(payload) : {}),
  };
  return [Buffer.from(`${JSON.stringify(row).slice(0, -1)},"payload":`), payload, CLOSE];
}

const FIRST = Buffer.from('{"sequence":');
const PAYLOAD = Buffer.from(',"payload":{');
const HEIGHT = /^"number":"?(\d+)/;

/** The block in a line of the landing table; a bare block is returned unchanged. */
export function payloadOf(line: Buffer): Buffer {
  const at = line.subarray(0, FIRST.length).equals(FIRST) ? line.indexOf(PAYLOAD) : -1;
  return at < 0 ? line : line.subarray(at + PAYLOAD.length - 1, -1);
}

/** Reads chain and height of a line that an earlier process staged. The payload may be invalid JSON. */
export function readLandingHead(line: Buffer): {
  index: number;
  relay_chain: string;
  chain: string;
  number: string;
} {
  const at = line.indexOf(PAYLOAD);
  const row = JSON.parse(at < 0 ? line.toString('utf8') : `${line.toString('utf8', 0, at)}}`);
  const start = at < 0 ? '' : line.toString('latin1', at + PAYLOAD.length, at + PAYLOAD.length + 40);
  const number = HEIGHT.exec(start)?.[1] ?? '0';
  return { index: Number(row.sequence), relay_chain: row.relay_chain, chain: row.chain, number };
}

const parsed = (json: Buffer): unknown => parseExact(json.toString('utf8'));

function decodedFacts(payload: Buffer): object {
  let decoded: DecodedBlock;
  try {
    const opened = extrinsicsToParse(payload)?.map(([index, json]) => [index, parsed(json)] as const);
    decoded = opened ? decodeExtrinsics(opened) : decodeBlock(parsed(payload));
  } catch {
    // ClickHouse refuses the line as well, and the loader turns it into a dead letter.
    return {};
  }
  const { calls, unknown, domains, ethereum, refused } = decoded;
  const facts = refused.map(({ extrinsic_index, ...told }) => ({
    fact: `extrinsic ${extrinsic_index}`,
    ...told,
  }));
  const position = new Map<number, number>();
  return {
    calls: calls.flatMap(({ extrinsic_index, path, pallet, call, actor, args }) => {
      const next = (position.get(extrinsic_index) ?? 0) + 1;
      position.set(extrinsic_index, next);
      try {
        // Nothing reads the arguments of other calls, and those of a wrapper contain the arguments of all nested calls.
        const text = isFactCall({ pallet, call }) ? JSON.stringify(args) : '';
        return [{ extrinsic_index, position: next, path, pallet, call, actor: actor ?? '', args: text }];
      } catch (error) {
        const fact = `extrinsic ${extrinsic_index} ${path} ${pallet}.${call}`;
        facts.push({ fact, reason: `arguments: ${describeReadError(error)}`, raw: '' });
        return [];
      }
    }),
    wrappers: unknown,
    domains,
    senders: ethereum.map(({ extrinsic_index, from, to }) => ({
      extrinsic_index,
      sender: from,
      receiver: to ?? '',
    })),
    refused: facts,
  };
}

interface SnapshotLine {
  readonly bytes: Buffer;
  readonly head: { readonly relay_chain: string; readonly chain: string };
  readonly origin: Origin;
}

export function snapshotLine(
  index: number,
  value: Buffer,
  registry: Registry,
): SnapshotLine | { refused: string; origin: Origin } {
  let parsed: unknown;
  try {
    parsed = parseExact(value.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) {
      return { refused: NO_JSON, origin: readOrigin(undefined, TOPICS.snapshots) };
    }
    throw error;
  }
  const document = asRecord(parsed);
  const origin = readOrigin(document?.origin, TOPICS.snapshots);
  if (document === null) return { refused: NO_OBJECT, origin };
  const read = parseSnapshot(document);
  if (!read.ok) return { refused: read.reason, origin };
  const { snapshot } = read;
  const chain = placeOfSnapshot(registry, snapshot);
  if (!chain) return { refused: `chain: unknown ${snapshot.chain}`, origin };
  const payload = snapshot.payload as Record<string, unknown>;
  const row = {
    sequence: index,
    relay_chain: chain.relay_chain,
    chain: chain.name,
    kind: snapshot.kind,
    as_of: snapshot.as_of,
    symbol: snapshot.kind === 'price' ? payload.symbol : '',
    block_number: snapshot.block_number ?? null,
    version: document.version ?? '',
    payload: jsonLine(payload),
  };
  return {
    bytes: Buffer.from(jsonLine(row)),
    head: { relay_chain: chain.relay_chain, chain: chain.name },
    origin,
  };
}
