import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { ProductError, reasonOf } from '../infra/errors.ts';
import { plural } from '../infra/words.ts';
import type { Chain } from './chains/chain.ts';
import { readRegistry } from './chains/registry.ts';
import type { IngestSettings } from './settings.ts';
import { BLOCKS_AT_ONCE, followBlocks } from './sources/block-follower.ts';
import type { Heights } from './sources/heights.ts';
import { findChain, openSource, type SourceOptions } from './sources/open-source.ts';
import { SnapshotCollector } from './sources/snapshot-collector.ts';

/** What a source follower needs of the process that loads: the pipeline itself, or a server that it calls. */
export interface IngestTarget {
  ingest(source: { name: string; bytes: Readable; chain: string }): Promise<IngestedBlocks>;
  /** Stored heights of every chain. */
  status(): Promise<{ readonly chains: readonly StoredHeights[] }>;
  /** Heights of an inclusive range that are not stored. */
  missing(range: { chain: string; from: number; to: number }): Promise<readonly Heights[]>;
}

interface IngestedBlocks {
  readonly blocks: number;
  readonly snapshots: number;
  readonly refused_lines: number;
  readonly refused_facts: number;
}

interface StoredHeights {
  readonly relay_chain: string;
  readonly chain: string;
  readonly lowest_block: number;
  readonly highest_block: number;
}

export interface SourceFollowerOptions extends SourceOptions {
  readonly from?: number;
  /** Told of the height to go on from after a stop. */
  readonly onTaken?: (next: number) => Promise<void>;
  /** Also blocks that are not final yet. */
  readonly best?: boolean;
  readonly pollMs: number;
  readonly concurrency: number;
  /** Also the chain's state, once a day. */
  readonly snapshots?: boolean;
  readonly treasury?: readonly string[];
}

/** Few, since whoever follows asks again anyway. */
const ATTEMPTS = 3;

/** Hands new blocks of a source to an target as they come, until it is told to stop. */
export class SourceFollower {
  readonly #source: Awaited<ReturnType<typeof openSource>>;
  readonly #options: SourceFollowerOptions;
  readonly #signal: AbortSignal;

  private constructor(
    source: Awaited<ReturnType<typeof openSource>>,
    options: SourceFollowerOptions,
    signal: AbortSignal,
  ) {
    this.#source = source;
    this.#options = options;
    this.#signal = signal;
  }

  static async open(
    options: SourceFollowerOptions,
    config: IngestSettings,
    signal: AbortSignal,
  ): Promise<SourceFollower> {
    return new SourceFollower(
      await openSource(options, config, { signal, attempts: ATTEMPTS }),
      options,
      signal,
    );
  }

  async run(target: IngestTarget, say: (text: string) => void): Promise<void> {
    const { sidecar, chain, registry } = this.#source;
    const {
      best = false,
      snapshots = false,
      treasury = [],
      url,
      pollMs,
      concurrency,
      onTaken,
    } = this.#options;
    const from = this.#options.from ?? (await nextHeight(target, chain));
    const collector = new SnapshotCollector(sidecar, {
      chain,
      registry,
      treasury,
      onUngiven: (kind, reason) => say(`no ${kind} snapshots from this source: ${reason}`),
    });
    const looks = followBlocks(sidecar, {
      chain,
      best,
      pollMs,
      concurrency,
      signal: this.#signal,
      onAway: (reason) => say(reason === null ? 'the source is back' : `${reason}; asking until it is back`),
      ...(from === undefined ? {} : { from }),
      ...(onTaken ? { onTaken } : {}),
      ...(snapshots ? { beside: (height) => collector.collect(height) } : {}),
    });
    say(`following ${chain.name} at ${url}${from === undefined ? '' : ` from ${from}`}`);
    for await (const lines of looks) {
      const source = { name: sidecar.url, bytes: Readable.from(lines), chain: chain.name };
      const report = await target.ingest(source);
      const refused = report.refused_lines + report.refused_facts;
      const taken = [
        ...(report.blocks > 0 ? [plural(report.blocks, 'block')] : []),
        ...(report.snapshots > 0 ? [plural(report.snapshots, 'snapshot')] : []),
        ...(refused > 0 ? [`${refused} refused`] : []),
      ];
      say(taken.join(', '));
    }
  }
}

const AGAIN_MS = 5_000;
const AGAIN_MS_MAX = 60_000;
const POLL_MS = 2000;
const CONCURRENCY = 8;

/** A chain that nobody else follows meanwhile. */
export interface Claimed {
  /** The height that whoever followed it before noted; null where nobody knows. */
  readonly next: number | null;
  note(next: number): Promise<void>;
  release(): Promise<void>;
}

/** Waits until nobody else follows a chain. */
export type Claim = (chain: string, signal: AbortSignal) => Promise<Claimed>;

/** Where one process has the chain for itself, what is stored says where to go on. */
const claimAlone: Claim = async () => ({ next: null, note: async () => {}, release: async () => {} });

/**
 * Follows the sources that the settings name beside a server, and returns how to stop. A source that is away is
 * asked again, later and later; one that serves another chain is left alone, and the log says so.
 */
export function startFollowing(
  target: IngestTarget,
  config: IngestSettings,
  log: FastifyBaseLogger,
  claim: Claim = claimAlone,
): () => Promise<void> {
  const registry = readRegistry(config);
  const named = config.FOLLOW.map(({ chain, url }) => ({ chain: findChain(registry, chain).name, url }));
  const stop = new AbortController();
  const running = named.map((source) =>
    keepFollowing(target, source, config, log.child(source), stop.signal, claim),
  );
  return async () => {
    stop.abort();
    await Promise.all(running);
  };
}

async function keepFollowing(
  target: IngestTarget,
  source: SourceOptions,
  config: IngestSettings,
  log: FastifyBaseLogger,
  signal: AbortSignal,
  claim: Claim,
): Promise<void> {
  const options = {
    ...source,
    best: config.FOLLOW_BEST,
    snapshots: config.FOLLOW_SNAPSHOTS,
    pollMs: POLL_MS,
    concurrency: CONCURRENCY,
  };
  for (let wait = AGAIN_MS; !signal.aborted; wait = Math.min(wait * 2, AGAIN_MS_MAX)) {
    let claimed: Claimed | undefined;
    try {
      claimed = await claim(source.chain, signal);
      const { next, note } = claimed;
      const place = { onTaken: note, ...(next === null ? {} : { from: next }) };
      const following = await SourceFollower.open({ ...options, ...place }, config, signal);
      wait = AGAIN_MS;
      await following.run(target, (text) => log.info(text));
    } catch (error) {
      if (signal.aborted) return;
      const isHopeless = error instanceof ProductError && error.code === 'usage';
      log.error(
        isHopeless ? {} : { err: error },
        `${isHopeless ? 'not followed' : 'following stopped'}: ${reasonOf(error)}`,
      );
      if (isHopeless) return;
      await setTimeout(wait, undefined, { signal }).catch(() => undefined);
    } finally {
      await claimed?.release();
    }
  }
}

const SPAN = 10_000;

/**
 * The height after the highest final one: what was taken before it was final is taken again. A process that was
 * killed may have left holes in the blocks that it was about to hand over.
 */
async function nextHeight(target: IngestTarget, { relay_chain, name }: Chain): Promise<number | undefined> {
  const { chains } = await target.status();
  const known = chains.find((stored) => stored.relay_chain === relay_chain && stored.chain === name);
  if (known === undefined) return undefined;
  let next = known.highest_block + 1;
  for (let isOpen = true; isOpen && next > 0; ) {
    const from = Math.max(0, next - SPAN);
    const missing = await target.missing({ chain: name, from, to: next - 1 });
    const top = missing.find(({ to }) => to === next - 1);
    isOpen = top?.from === from;
    next = top?.from ?? next;
  }
  const from = Math.max(known.lowest_block, next - BLOCKS_AT_ONCE);
  if (from >= next) return next;
  const [hole] = await target.missing({ chain: name, from, to: next - 1 });
  return hole?.from ?? next;
}
