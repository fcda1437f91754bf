import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { Lease } from '../../infra/coordination/lock.ts';
import { pause } from '../../infra/coordination/pause.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { KeyValue } from '../../infra/ports.ts';
import { findChain, readRegistry } from '../chains/registry.ts';
import { concurrencyOf, displayUrl, type SourceOptions } from '../sources/service-address.ts';
import type { SourceSettings } from '../sources/settings.ts';
import { FollowMetrics, type SourceMetrics } from '../sources/source-metrics.ts';
import { type IngestTarget, SourceFollower } from './source-follower.ts';

const RETRY_MS = 5_000;
const RETRY_MS_MAX = 60_000;
const CLAIM_POLL_MS = 1000;

interface IngestRoleOptions {
  readonly target: IngestTarget;
  readonly settings: SourceSettings & {
    /** Time after which a process can take over the chain of a process that died. */
    readonly LEASE_MS: number;
  };
  readonly keyValue: KeyValue;
  readonly log: FastifyBaseLogger;
  readonly metrics: SourceMetrics;
}

/**
 * Follows the sources in the settings. Returns a function that stops. A source that does not answer or that serves
 * another chain is retried with growing waits.
 */
export function startIngestRole(options: IngestRoleOptions): () => Promise<void> {
  const { settings, metrics } = options;
  const registry = readRegistry(settings);
  const sources = settings.FOLLOW.map(({ chain: name, ...address }, index) => {
    const { relay_chain, name: chain } = findChain(registry, name);
    return { ...address, chain, followed: new FollowMetrics(metrics, { relay_chain, chain }, index) };
  });
  const stop = new AbortController();
  const running = sources.map((source) => keepFollowing(source, options, stop.signal));
  return async () => {
    stop.abort();
    await Promise.all(running);
  };
}

async function keepFollowing(
  { followed, ...source }: SourceOptions & { readonly followed: FollowMetrics },
  { target, settings, keyValue, log: parent }: IngestRoleOptions,
  signal: AbortSignal,
): Promise<void> {
  const log = parent.child({ chain: source.chain, url: displayUrl(source) });
  const options = {
    ...source,
    followed,
    best: settings.FOLLOW_BEST,
    force: settings.FOLLOW_FORCE,
    snapshots: settings.FOLLOW_SNAPSHOTS,
    concurrency: concurrencyOf(source),
  };
  for (let wait = RETRY_MS; !signal.aborted; wait = Math.min(wait * 2, RETRY_MS_MAX)) {
    let claim: ChainClaim | undefined;
    try {
      claim = await claimChain(source.chain, keyValue, { leaseMs: settings.LEASE_MS, signal, followed });
      const { next, note, lost } = claim;
      const progress = { onIngested: note, ...(next === null ? {} : { from: next }) };
      const until = AbortSignal.any([signal, lost]);
      const follower = await SourceFollower.open({ ...options, ...progress }, settings, until);
      wait = RETRY_MS;
      await follower.run(target, (text) => log.info(text));
      if (lost.aborted) log.warn('stopped following: another process may have taken over the chain');
    } catch (error) {
      if (signal.aborted) return;
      followed.recordError();
      const isUsage = error instanceof ProductError && error.code === 'usage';
      log.error(
        isUsage ? {} : { err: error },
        `${isUsage ? 'cannot follow' : 'stopped following'}: ${reasonOf(error)}`,
      );
      await pause(wait, signal);
    } finally {
      await claim?.release();
    }
  }
}

/** A claim of this process to follow a chain alone. */
interface ChainClaim {
  /** Height at which the last process would have continued; null if no process noted a height. */
  readonly next: number | null;
  /** Aborts when another process may have taken over the chain, for example after a stall of this one. */
  readonly lost: AbortSignal;
  /** Stores the height at which a process that takes over continues. */
  note(next: number): Promise<void>;
  release(): Promise<void>;
}

/** Waits for the lease of a chain, so that one process follows the chain, and another takes over if it dies. */
async function claimChain(
  chain: string,
  keyValue: KeyValue,
  { leaseMs, signal, followed }: { leaseMs: number; signal: AbortSignal; followed: FollowMetrics },
): Promise<ChainClaim> {
  for (;;) {
    const lease = await Lease.acquire(keyValue, `follow/${chain}`, leaseMs, 1);
    if (!lease) {
      followed.clear();
      await setTimeout(CLAIM_POLL_MS, undefined, { signal });
      continue;
    }
    const release = async () => void (await lease.release());
    const noted = await keyValue.get(`followed/${chain}`).catch(async (error) => {
      await release();
      throw error;
    });
    const lost = new AbortController();
    const note = async (next: number) => {
      if (await lease.isHeld()) await keyValue.set(`followed/${chain}`, String(next));
      else lost.abort();
    };
    return { next: noted === null ? null : Number(noted), lost: lost.signal, note, release };
  }
}
