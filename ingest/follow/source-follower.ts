import { Readable } from 'node:stream';
import { isoDay } from '../../infra/days.ts';
import { plural } from '../../infra/format.ts';
import { type OpenedSource, openSource } from '../backfill/open-source.ts';
import { type Chain, secondsPerBlock } from '../chains/chain.ts';
import { NodeSource } from '../node/node-source.ts';
import { DayCollector } from '../node/state/day-collector.ts';
import type { StateTarget } from '../node/state/state-backfill.ts';
import { stateNode } from '../node/state/state-node.ts';
import type { HeightRange } from '../sources/heights.ts';
import type { SourceOptions } from '../sources/service-address.ts';
import type { SourceSettings } from '../sources/settings.ts';
import { Sidecar } from '../sources/sidecar.ts';
import type { SkippedHeight, UnservedHeight } from '../sources/skipped-heights.ts';
import { SnapshotCollector } from '../sources/snapshot-collector.ts';
import type { FollowMetrics } from '../sources/source-metrics.ts';
import { BLOCKS_AT_ONCE, type FollowOptions, followBlocks } from './block-follower.ts';
import { FollowTrace } from './follow-trace.ts';
import { refillSkipped } from './skipped-refill.ts';

/** The process that loads the blocks: the pipeline itself, or a server that the follower calls. */
export interface IngestTarget extends StateTarget {
  ingest(source: { name: string; bytes: Readable; chain: string }): Promise<IngestedBlocks>;
  /** Stored heights of every chain. */
  status(): Promise<{ readonly chains: readonly StoredHeights[] }>;
  /** Heights of an inclusive range that are neither stored nor skipped. */
  missing(range: { chain: string; from: number; to: number }): Promise<readonly HeightRange[]>;
  /** Heights of a chain that are skipped. */
  skipped(chain: string): Promise<readonly SkippedHeight[]>;
  /** Counts a failed attempt for each height. */
  noteSkipped(chain: string, heights: readonly UnservedHeight[]): Promise<void>;
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
  /** Called with the first height that is not ingested yet. A follower continues there after a stop. */
  readonly onIngested?: (next: number) => Promise<void>;
  /** Also ingests blocks that are not final yet. */
  readonly best?: boolean;
  /** Time between two requests for the head. Default: half of the chain's block time, from 250 ms to 2 s. */
  readonly pollMs?: number | undefined;
  readonly concurrency: number;
  /** Also takes snapshots of the chain's state, once a day. */
  readonly snapshots?: boolean;
  readonly treasury?: readonly string[];
  /** Wait before a request is retried. It doubles with each attempt. */
  readonly backoffMs?: number;
  /** Wait before a skipped height is retried. It doubles with each attempt, up to a day. */
  readonly skippedRetrySeconds?: number;
  readonly followed?: FollowMetrics;
  /** `run` throws after this time without an answer, so that the caller can try another source. */
  readonly awayMsMax?: number;
}

/** Few, because the follower retries anyway. */
const ATTEMPTS = 3;
const SKIPPED_RETRY_SECONDS = 60;

/** Ingests new blocks of a source until the signal aborts. */
export class SourceFollower {
  readonly #source: OpenedSource;
  readonly #options: SourceFollowerOptions;
  readonly #retrySeconds: number;
  readonly #signal: AbortSignal;
  /** Closes the connections to the source when `run` ends. */
  readonly #ended: AbortController;

  private constructor(
    source: OpenedSource,
    options: SourceFollowerOptions,
    retrySeconds: number,
    signal: AbortSignal,
    ended: AbortController,
  ) {
    this.#source = source;
    this.#options = options;
    this.#retrySeconds = retrySeconds;
    this.#signal = signal;
    this.#ended = ended;
  }

  static async open(
    options: SourceFollowerOptions,
    config: SourceSettings,
    signal: AbortSignal,
  ): Promise<SourceFollower> {
    const { backoffMs } = options;
    const ended = new AbortController();
    const both = AbortSignal.any([signal, ended.signal]);
    const limits = { signal: both, attempts: ATTEMPTS, ...(backoffMs === undefined ? {} : { backoffMs }) };
    try {
      const source = await openSource(options, config, limits);
      return new SourceFollower(
        source,
        options,
        options.skippedRetrySeconds ?? SKIPPED_RETRY_SECONDS,
        both,
        ended,
      );
    } catch (error) {
      ended.abort();
      throw error;
    }
  }

  async run(target: IngestTarget, say: (text: string) => void): Promise<void> {
    const { service, chain } = this.#source;
    const {
      best = false,
      pollMs = pollMsOf(chain),
      concurrency,
      onIngested,
      followed,
      awayMsMax,
    } = this.#options;
    const from = this.#options.from ?? (await nextHeight(target, chain));
    if (from !== undefined) followed?.recordProgress(from);
    const trace = new FollowTrace(chain.name);
    const batches = followBlocks(service, {
      chain,
      best,
      pollMs,
      concurrency,
      signal: this.#signal,
      onUnserved: async (heights) => {
        await target.noteSkipped(chain.name, heights);
        for (const { number, reason } of heights.slice(0, HEIGHTS_SHOWN)) say(`skipped ${number}: ${reason}`);
        const more = heights.length - HEIGHTS_SHOWN;
        if (more > 0) say(`skipped ${plural(more, 'more height')}`);
      },
      onConnectionChange: (reason) =>
        say(reason === null ? 'the source answers again' : `${reason}; retrying until it answers`),
      ...(from === undefined ? {} : { from }),
      ...(awayMsMax === undefined ? {} : { awayMsMax }),
      onIngested: async (next) => {
        await onIngested?.(next);
        followed?.recordProgress(next);
      },
      followed: {
        recordHead: (head) => {
          followed?.recordHead(head);
          trace.begin();
        },
        recordError: () => followed?.recordError(),
      },
      ...this.#snapshots(target, say),
    });
    this.#sayStart(from, say);
    const refilling = refillSkipped(service, target, {
      chain: chain.name,
      retrySeconds: this.#retrySeconds,
      signal: this.#signal,
      say,
    });
    /** Undecoded calls in earlier messages. */
    let reported = 0;
    try {
      for await (const lines of batches) {
        const source = { name: service.url, bytes: Readable.from(lines), chain: chain.name };
        const { undecodedCalls = 0 } = service;
        const report = await trace.ingest(() => target.ingest(source));
        say(summaryOf(report, undecodedCalls - reported));
        reported = undecodedCalls;
      }
    } finally {
      this.#ended.abort();
      await refilling;
    }
  }

  #snapshots(target: StateTarget, say: (text: string) => void): Pick<FollowOptions, 'snapshotsAt'> {
    const { service, chain, registry } = this.#source;
    const { snapshots = false, treasury = [] } = this.#options;
    const subject = { chain, registry, treasury };
    if (!snapshots) return {};
    if (service instanceof NodeSource) {
      const days = new DayCollector(stateNode({ rpc: service.rpc, block: (hash) => service.block(hash) }), {
        ...subject,
        target,
        say,
      });
      return { snapshotsAt: (height) => days.collect(height) };
    }
    if (!(service instanceof Sidecar)) return {};
    const collector = new SnapshotCollector(service, {
      ...subject,
      onUnavailable: (kind, reason) => say(`no ${kind} snapshots from this source: ${reason}`),
    });
    return { snapshotsAt: (height) => collector.collect(height) };
  }

  #sayStart(from: number | undefined, say: (text: string) => void): void {
    const { service, chain, unchecked } = this.#source;
    say(`following ${chain.name} at ${service.url}${from === undefined ? '' : ` from ${from}`}`);
    if (unchecked !== null) say(unchecked);
  }
}

const POLL_MS_MAX = 2000;
const POLL_MS_MIN = 250;

/** Half of a block time, within limits. This bounds the delay of a block. */
function pollMsOf(chain: Chain): number {
  const halfMs = secondsPerBlock(chain, isoDay(Date.now())) * 500;
  return Math.max(POLL_MS_MIN, Math.min(POLL_MS_MAX, halfMs));
}

/** Most skipped heights that a message lists; the others are only counted. */
const HEIGHTS_SHOWN = 5;

function summaryOf(report: IngestedBlocks, undecodedCalls: number): string {
  const refused = report.refused_lines + report.refused_facts;
  return [
    ...(report.blocks > 0 ? [plural(report.blocks, 'block')] : []),
    ...(report.snapshots > 0 ? [plural(report.snapshots, 'snapshot')] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(undecodedCalls > 0 ? [`${plural(undecodedCalls, 'call')} stored as bytes`] : []),
  ].join(', ');
}

const HEIGHTS_PER_QUERY = 10_000;

/**
 * The first height without a final block: the lowest hole among the newest blocks, which a killed process may have left,
 * or else the height after the highest final block.
 */
async function nextHeight(target: IngestTarget, { relay_chain, name }: Chain): Promise<number | undefined> {
  const { chains } = await target.status();
  const known = chains.find((stored) => stored.relay_chain === relay_chain && stored.chain === name);
  if (known === undefined) return undefined;
  let next = known.highest_block + 1;
  for (let isOpen = true; isOpen && next > 0; ) {
    const from = Math.max(0, next - HEIGHTS_PER_QUERY);
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
