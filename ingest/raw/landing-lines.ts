import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import { decodeBlock, mayHoldNestedCalls } from '../decode/calls.ts';
import { parseExact } from '../decode/json.ts';
import { parseSnapshot } from '../decode/snapshot.ts';
import type { BlockHead, Origin } from '../log/envelope.ts';
import { TOPICS } from '../log/topics.ts';
import { NO_PREFIX } from './views/parse-sql.ts';

const CLOSE = Buffer.from('}');

/**
 * A block as its inlet takes it: the payload's own bytes behind what the engine cannot know. A block is opened
 * here only where its bytes say that it holds calls within calls or Ethereum payloads.
 */
export function blockLine(index: number, head: BlockHead, chain: Chain, payload: Buffer): readonly Buffer[] {
  const row = {
    sequence: index,
    relay_chain: chain.relay_chain,
    chain: chain.name,
    prefix: chain.accounts === 'ss58' ? chain.ss58_prefix : NO_PREFIX,
    version: head.version ?? '',
    is_deleted: head.is_deleted ?? 0,
    source: head.source,
    ...(mayHoldNestedCalls(payload) ? decodedFacts(payload) : {}),
  };
  return [Buffer.from(`${JSON.stringify(row).slice(0, -1)},"payload":`), payload, CLOSE];
}

const PAYLOAD = Buffer.from(',"payload":{');
const HEIGHT = /^"number":"?(\d+)/;

/** What a line that was staged by an earlier process is about; its payload need not even be JSON. */
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

function decodedFacts(payload: Buffer): object {
  let block: unknown;
  try {
    block = parseExact(payload.toString('utf8'));
  } catch {
    // The engine will refuse it as well, and with it the line gets its dead letter.
    return {};
  }
  const facts = decodeBlock(block);
  const position = new Map<number, number>();
  return {
    calls: facts.calls.map(({ extrinsic_index, path, pallet, call, actor, args }) => {
      const place = (position.get(extrinsic_index) ?? 0) + 1;
      position.set(extrinsic_index, place);
      return {
        extrinsic_index,
        position: place,
        path,
        pallet,
        call,
        actor: actor ?? '',
        args: JSON.stringify(args),
      };
    }),
    domains: facts.domains,
    senders: facts.ethereum.map(({ extrinsic_index, from, to }) => ({
      extrinsic_index,
      sender: from,
      receiver: to ?? '',
    })),
    refused: facts.refused.map(({ extrinsic_index, reason, raw }) => ({
      fact: `extrinsic ${extrinsic_index}`,
      reason,
      raw: typeof raw === 'string' ? raw : JSON.stringify(raw),
    })),
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
  const unknownOrigin: Origin = { source: 'log', origin: TOPICS.snapshots, line: 0 };
  let document: Record<string, unknown>;
  try {
    document = parseExact(value.toString('utf8')) as Record<string, unknown>;
  } catch {
    return { refused: 'not JSON', origin: unknownOrigin };
  }
  const origin = (document.origin as Origin | undefined) ?? unknownOrigin;
  const read = parseSnapshot(document);
  if (!read.ok) return { refused: read.reason, origin };
  const { snapshot } = read;
  const chain = registry.find(snapshot.chain, snapshot.relay_chain);
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
    payload: JSON.stringify(payload),
  };
  return {
    bytes: Buffer.from(JSON.stringify(row)),
    head: { relay_chain: chain.relay_chain, chain: chain.name },
    origin,
  };
}
