import { parseTimestamp } from './calendar.ts';
import { parseEvent } from './calls.ts';
import { type Block, isOutcome, type RefusedFact, readBlock } from './facts.ts';
import { isArray, isObject, type Json, type JsonObject, NumberToken, parseJson } from './json.ts';
import { type Decimal, parseDecimal, parseIndex } from './numbers.ts';
import { CHAINS, type Chain, findChain } from './registry.ts';
import { compareKeys } from './rows.ts';
import { faultOf, isSnapshotKind } from './snapshots.ts';

export type InputLine = { readonly line: string; readonly chain?: string };

/** The price of one token at one time, the only snapshot that these records read. */
export type Price = { readonly symbol: string; readonly usd: Decimal; readonly asOf: number };

export type Snapshot = {
  readonly kind: string;
  readonly relay_chain: string;
  readonly chain: string;
  readonly blockNumber: number;
  readonly asOf: number;
  readonly payload: JsonObject;
  readonly price: Price | null;
};

export type RefusedLine = { readonly line: number; readonly reason: string };

export type Input = {
  /** By relay chain, chain and height. */
  readonly blocks: readonly Block[];
  /** In reading order. */
  readonly snapshots: readonly Snapshot[];
  readonly refusedLines: readonly RefusedLine[];
  readonly refusedFacts: readonly RefusedFact[];
};

/** One of the documents that claim the same place: the same height of a chain, or the same snapshot key. */
type Claim<T> = {
  readonly place: string;
  readonly isFinalized: boolean;
  /** Null for a line without one, which counts as taken in after all that carry one. */
  readonly version: bigint | null;
  readonly isDeleted: boolean;
  readonly content: T;
};

type RawBlock = { readonly chain: Chain; readonly height: number; readonly payload: JsonObject };

/** The first hash of each chain, of its registry or of what was stored first. */
type FirstHashes = Map<string, string>;

class Refusal extends Error {}

/** Reads lines in their order and keeps one winner for every block height and every snapshot key. */
export function readLines(lines: readonly InputLine[]): Input {
  const blocks = new Map<string, Claim<RawBlock>>();
  const snapshots = new Map<string, Claim<Snapshot>>();
  const firstHashes: FirstHashes = new Map();
  const refusedLines: RefusedLine[] = [];
  lines.forEach(({ line, chain }, index) => {
    if (line.trim() === '') return;
    try {
      const document = parseDocument(line);
      if (document.schema === 'snapshot/1') settle(snapshots, claimSnapshot(document));
      else settle(blocks, claimBlock(document, chain, firstHashes));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusedLines.push({ line: index, reason: error.message });
    }
  });

  const read = survivors(blocks)
    .map(({ chain, height, payload }) => readBlock(chain, height, payload))
    .sort(([a], [b]) =>
      compareKeys([a.chain.relay, a.chain.name, a.height], [b.chain.relay, b.chain.name, b.height]),
    );
  return {
    blocks: read.map(([block]) => block),
    snapshots: survivors(snapshots),
    refusedLines,
    refusedFacts: read.flatMap(([, refused]) => refused),
  };
}

/** Final beats provisional, then the higher version, then the later line; a tombstone competes like a block. */
function settle<T>(claims: Map<string, Claim<T>>, claim: Claim<T>): void {
  const holder = claims.get(claim.place);
  if (holder && !beats(claim, holder)) return;
  // Set again, so that the map stays in the order of the winning lines.
  claims.delete(claim.place);
  claims.set(claim.place, claim);
}

function beats(later: Claim<unknown>, earlier: Claim<unknown>): boolean {
  if (later.isFinalized !== earlier.isFinalized) return later.isFinalized;
  if (later.version === null) return true;
  return earlier.version !== null && later.version >= earlier.version;
}

function survivors<T>(claims: ReadonlyMap<string, Claim<T>>): T[] {
  return [...claims.values()].filter(({ isDeleted }) => !isDeleted).map(({ content }) => content);
}

function parseDocument(line: string): JsonObject {
  let document: Json;
  try {
    document = parseJson(line);
  } catch {
    throw new Refusal('not JSON');
  }
  return demand(isObject(document) ? document : null, 'not a JSON object');
}

/** A bare block belongs to the chain of its file, an envelope names its own. */
function claimBlock(
  document: JsonObject,
  chainOfFile: string | undefined,
  firstHashes: FirstHashes,
): Claim<RawBlock> {
  const isBare = document.schema === undefined;
  if (!isBare && document.schema !== 'block/1') throw new Refusal('unknown schema');
  const chainName = isBare ? chainOfFile : document.chain;
  const chain = demand(typeof chainName === 'string' ? findChain(chainName) : null, 'unknown chain');
  const payload = demand(isBare ? document : objectOrNull(document.payload), 'no payload');
  const height = demand(parseIndex(payload.number), 'no block number');
  const isDeleted = !isBare && readFlag(document.is_deleted);
  if (!isDeleted) {
    checkBlock(payload);
    checkCompleteness(height, payload);
    checkGenesis(chain, height, payload, firstHashes);
  }
  return {
    place: `${chain.name}/${height}`,
    isFinalized: payload.finalized !== false,
    version: isBare ? null : readVersion(document.version),
    isDeleted,
    content: { chain, height, payload },
  };
}

function checkBlock(payload: JsonObject): void {
  for (const name of ['hash', 'parentHash']) {
    if (typeof payload[name] !== 'string') throw new Refusal(`no ${name}`);
  }
  if (!isArray(payload.extrinsics) || !payload.extrinsics.every(isObject)) throw new Refusal('no extrinsics');
  for (const name of ['onInitialize', 'onFinalize']) {
    const phase = payload[name];
    if (!isObject(phase) || !isArray(phase.events)) throw new Refusal(`no events in ${name}`);
  }
}

/** A source that had lost the events, or the block, has not told what happened. */
function checkCompleteness(height: number, { extrinsics }: JsonObject): void {
  const all = isArray(extrinsics) ? extrinsics.filter(isObject) : [];
  if (all.length === 0) {
    if (height > 0) throw new Refusal('extrinsics missing');
    return;
  }
  const events = all.flatMap(({ events }) => (isArray(events) ? events : [])).map(parseEvent);
  const isLost = !events.some(isOutcome) || all.some(({ success }) => typeof success === 'string');
  if (isLost) throw new Refusal('events missing');
}

/** The first two blocks say which chain they are of. */
function checkGenesis(chain: Chain, height: number, payload: JsonObject, firstHashes: FirstHashes): void {
  if (height > 1) return;
  const first = String(height === 0 ? payload.hash : payload.parentHash).toLowerCase();
  const known = chain.genesis ?? firstHashes.get(chain.name) ?? null;
  const isOther = known === null ? CHAINS.some(({ genesis }) => genesis === first) : known !== first;
  if (isOther) throw new Refusal('another genesis');
  firstHashes.set(chain.name, first);
}

function claimSnapshot(document: JsonObject): Claim<Snapshot> {
  const kind = text(document.kind, 'kind');
  if (!isSnapshotKind(kind)) throw new Refusal(`unknown kind ${kind}`);
  const chainName = text(document.chain, 'chain');
  const chain = findChain(chainName);
  const relay = chain?.relay ?? text(document.relay_chain, 'relay_chain');
  text(document.relay_chain, 'relay_chain');
  const blockNumber = demand(parseIndex(document.block_number), 'no block_number');
  const asOf = demand(parseTimestamp(text(document.as_of, 'as_of')), 'as_of is not a time');
  const payload = demand(objectOrNull(document.payload), 'no payload');
  const fault = faultOf(kind, payload);
  if (fault !== null) throw new Refusal(fault);
  const price = kind === 'price' ? readPrice(payload, asOf) : null;
  const name = chain?.name ?? chainName;
  return {
    place: [relay, name, kind, asOf, price?.symbol ?? ''].join('/'),
    isFinalized: true,
    version: readVersion(document.version),
    isDeleted: readFlag(document.is_deleted),
    content: { kind, relay_chain: relay, chain: name, blockNumber, asOf, payload, price },
  };
}

function readPrice(payload: JsonObject, asOf: number): Price {
  const symbol = text(payload.symbol, 'symbol');
  const usd = demand(parseDecimal(payload.usd), 'usd is not a price');
  return { symbol, usd, asOf };
}

function readVersion(value: Json | undefined): bigint | null {
  if (value === undefined || value === null) return null;
  const digits = value instanceof NumberToken ? value.text : value;
  if (typeof digits !== 'string' || !/^[0-9]+$/.test(digits)) throw new Refusal('version is not a number');
  return BigInt(digits);
}

function readFlag(value: Json | undefined): boolean {
  return value === true || parseIndex(value) === 1;
}

function objectOrNull(value: Json | undefined): JsonObject | null {
  return isObject(value) ? value : null;
}

function text(value: Json | undefined, name: string): string {
  return demand(typeof value === 'string' && value !== '' ? value : null, `no ${name}`);
}

function demand<T>(value: T | null | undefined, reason: string): T {
  if (value === null || value === undefined) throw new Refusal(reason);
  return value;
}
