import { Readable } from 'node:stream';
import { pause } from '../../../infra/coordination/pause.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import type { ChainPlan } from '../../../ingest/backfill/chain-backfill.ts';
import type { Sources } from '../../../ingest/backfill/sources-file.ts';
import { SourceFollower, type SourceFollowerOptions } from '../../../ingest/follow/source-follower.ts';
import type { ValueBackfill } from '../../../ingest/sources/values/value-backfill.ts';
import type { Config } from '../../settings/settings.ts';
import type { OperationClient } from '../operations/client.ts';
import { backfillTarget, openFeeds } from './backfill-feeds.ts';
import { ingestTarget } from './ingest-target.ts';
import { plural } from './words.ts';

/** What holds for all chains that are followed. */
type FollowAll = Pick<SourceFollowerOptions, 'from' | 'best' | 'snapshots' | 'treasury' | 'pollMs'>;

interface Surroundings {
  readonly client: OperationClient;
  readonly config: Config;
  readonly options: FollowAll;
  readonly stop: AbortSignal;
  readonly say: (text: string) => void;
}

/** A source that gave nothing for so long is left where there is another. */
const AWAY_MS_MAX = 60_000;
const RETRY_MS = 5_000;
const RETRY_MS_MAX = 60_000;
/** Between two looks at what feeds of values lack: they have a new day once a day. */
const VALUES_MS = 3_600_000;

/** Follows the chains of a file side by side, and fetches values of days when these have ended, until it is stopped. */
export async function followSources(sources: Sources, around: Surroundings): Promise<void> {
  const { chains, values } = sources;
  const feeds = await openFeeds({ ...sources, chains: [], values }, around.config, around.stop);
  await Promise.all([
    ...chains.map((plan) => followChain(plan, around)),
    ...feeds.values.map((feed) => followValues(feed, around)),
  ]);
}

/** The same for as long as the process runs, and returns how to stop: what fails in the store is tried again. */
export function keepFollowingSources(
  sources: Sources,
  around: Omit<Surroundings, 'stop'>,
): () => Promise<void> {
  const stop = new AbortController();
  const following = (async () => {
    while (!stop.signal.aborted) {
      const attempt = new AbortController();
      try {
        await followSources(sources, { ...around, stop: AbortSignal.any([stop.signal, attempt.signal]) });
        return;
      } catch (error) {
        // What has not failed begins again with the rest: it would be followed twice.
        attempt.abort();
        if (!stop.signal.aborted) around.say(`following stopped: ${reasonOf(error)}`);
        await pause(RETRY_MS_MAX, stop.signal);
      }
    }
  })();
  return async () => {
    stop.abort();
    await following;
  };
}

async function followChain({ chain, sources }: ChainPlan, around: Surroundings): Promise<void> {
  const { client, config, options, stop } = around;
  const say = (text: string) => around.say(`${chain.name}: ${text}`);
  const services = sources.filter((source) => 'url' in source);
  /** Where the next service goes on. */
  let { from } = options;
  const onIngested = async (next: number) => {
    from = next;
  };
  if (services.length === 0) say('not followed, since no service is among its sources');
  for (let [turn, wait] = [0, RETRY_MS]; services.length > 0 && !stop.aborted; turn++) {
    const service = services[turn % services.length] as (typeof services)[number];
    const awayMsMax = services.length > 1 ? { awayMsMax: AWAY_MS_MAX } : {};
    const begin = from === undefined ? {} : { from };
    const given = { ...options, ...awayMsMax, ...service, ...begin, onIngested, chain: chain.name };
    try {
      const follower = await SourceFollower.open(given, config, stop);
      wait = RETRY_MS;
      await follower.run(ingestTarget(client), say);
      return;
    } catch (error) {
      if (stop.aborted) return;
      if (!isOfSource(error)) throw error;
      // An address may serve another network for a while only.
      say(`${error.code === 'usage' ? 'not followed' : 'left'}: ${reasonOf(error)}`);
      // Each of them is asked once before any is waited for.
      if (turn % services.length === services.length - 1) {
        await pause(wait, stop);
        wait = Math.min(wait * 2, RETRY_MS_MAX);
      }
    }
  }
}

/** Not of this process or of its store. */
const isOfSource = (error: unknown): error is ProductError =>
  error instanceof ProductError && !error.code.startsWith('store_');

async function followValues(values: ValueBackfill, { client, stop, say }: Surroundings): Promise<void> {
  const { storedDays } = backfillTarget(client);
  while (!stop.aborted) {
    for await (const { name, lines } of values.portions(storedDays)) {
      const body = Readable.from(lines, { objectMode: false });
      const { snapshots, refused_lines } = await client.call('ingest', { name }, { body });
      const refused = refused_lines === 0 ? '' : `, ${refused_lines} refused`;
      say(`${values.kind}: ${plural(snapshots, 'day')}${refused}`);
    }
    for (const { source, error } of values.faults.splice(0)) say(`${source}: ${reasonOf(error)}`);
    await pause(VALUES_MS, stop);
  }
}
