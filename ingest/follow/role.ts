import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { Lease } from '../../infra/coordination/lock.ts';
import { pause } from '../../infra/coordination/pause.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { KeyValue } from '../../infra/ports.ts';
import { findChain, readRegistry } from '../chains/registry.ts';
import { concurrencyOf, type SourceOptions, shownUrl } from '../sources/service-address.ts';
import type { SourceSettings } from '../sources/settings.ts';
import { FollowedChain, type SourceMetrics } from '../sources/source-metrics.ts';
import type { IngestTarget } from './source-follower.ts';

const RETRY_MS = 5_000;
const RETRY_MS_MAX = 60_000;
const CLAIM_POLL_MS = 1000;

interface IngestRoleOptions {
  readonly target: IngestTarget;
  readonly settings: SourceSettings & {
    /** Time after which the chain of a process that died is free. */
    readonly LEASE_MS: number;
  };
  readonly keyValue: KeyValue;
  readonly log: FastifyBaseLogger;
  readonly metrics: SourceMetrics;
}

/**
 * Follows the sources of the settings and returns how to stop. A source that does not answer, or serves another chain, is
 * retried with growing waits.
 */
export function startIngestRole(options: IngestRoleOptions): () => Promise<void> {
  const { settings, metrics } = options;
  const registry = readRegistry(settings);
  const sources = settings.FOLLOW.map(({ chain: name, ...address }, index) => {
    const { relay_chain, name: chain } = findChain(registry, name);
    return { ...address, chain, followed: new FollowedChain(metrics, { relay_chain, chain }, index) };
  });
  const stop = new AbortController();
  const running = sources.map((source) => keepFollowing(source, options, stop.signal));
  return async () => {
    stop.abort();
    await Promise.all(running);
  };
}

async function keepFollowing(
  { followed, ...source }: SourceOptions & { readonly followed: FollowedChain },
  { target, settings, keyValue, log: parent }: IngestRoleOptions,
  signal: AbortSignal,
): Promise<void> {
  const log = parent.child({ chain: source.chain, url: shownUrl(source) });
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
      // Most processes follow nothing, and need not read the decoder of nodes.
      const { SourceFollower } = await import('./source-follower.ts');
      const follower = await SourceFollower.open({ ...options, ...progress }, settings, until);
      wait = RETRY_MS;
      await follower.run(target, (text) => log.info(text));
      if (lost.aborted) log.warn('following stopped: another process may have taken the chain over');
    } catch (error) {
      if (signal.aborted) return;
      followed.failed();
      const isOfOther = error instanceof ProductError && error.code === 'usage';
      log.error(
        isOfOther ? {} : { err: error },
        `${isOfOther ? 'not followed' : 'following stopped'}: ${reasonOf(error)}`,
      );
      await pause(wait, signal);
    } finally {
      await claim?.release();
    }
  }
}

/** A chain that only this process follows. */
interface ChainClaim {
  /** The height that the process before noted; null where none did. */
  readonly next: number | null;
  /** Aborted when another process may have taken the chain over, as when this one was stalled. */
  readonly lost: AbortSignal;
  note(next: number): Promise<void>;
  release(): Promise<void>;
}

/** Waits for the lease of a chain: of several processes one follows it, and when it dies another one continues. */
async function claimChain(
  chain: string,
  keyValue: KeyValue,
  { leaseMs, signal, followed }: { leaseMs: number; signal: AbortSignal; followed: FollowedChain },
): Promise<ChainClaim> {
  for (;;) {
    const lease = await Lease.acquire(keyValue, `follow/${chain}`, leaseMs, 1);
    if (!lease) {
      followed.left();
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
