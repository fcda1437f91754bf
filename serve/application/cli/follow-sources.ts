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
import { plural } from './format.ts';
import { ingestTarget } from './ingest-target.ts';

/** The options that apply to every chain. */
type FollowOptions = Pick<SourceFollowerOptions, 'from' | 'best' | 'snapshots' | 'treasury' | 'pollMs'>;

interface FollowContext {
  readonly client: OperationClient;
  readonly config: Config;
  readonly options: FollowOptions;
  readonly stop: AbortSignal;
  readonly say: (text: string) => void;
}

/** After this time without an answer, a chain with several sources continues with the next source. */
const AWAY_MS_MAX = 60_000;
const RETRY_MS = 5_000;
const RETRY_MS_MAX = 60_000;
/** Interval at which feeds of values are asked for missing days. */
const VALUES_MS = 3_600_000;

/** Follows all chains of a sources file in parallel, and fetches the values of each day after it has ended. */
export async function followSources(sources: Sources, context: FollowContext): Promise<void> {
  const { chains, values } = sources;
  const feeds = await openFeeds({ ...sources, chains: [], values }, context.config, context.stop);
  await Promise.all([
    ...chains.map((plan) => followChain(plan, context)),
    ...feeds.values.map((feed) => followValues(feed, context)),
  ]);
}

/** Follows sources until the returned function is called. Starts again after a failure of the store. */
export function keepFollowingSources(
  sources: Sources,
  context: Omit<FollowContext, 'stop'>,
): () => Promise<void> {
  const stop = new AbortController();
  const following = (async () => {
    while (!stop.signal.aborted) {
      const attempt = new AbortController();
      try {
        await followSources(sources, { ...context, stop: AbortSignal.any([stop.signal, attempt.signal]) });
        return;
      } catch (error) {
        // The next attempt starts all chains again, so chains that still run must stop.
        attempt.abort();
        if (!stop.signal.aborted) context.say(`following stopped, and starts again soon: ${reasonOf(error)}`);
        await pause(RETRY_MS_MAX, stop.signal);
      }
    }
  })();
  return async () => {
    stop.abort();
    await following;
  };
}

async function followChain({ chain, sources }: ChainPlan, context: FollowContext): Promise<void> {
  const { client, config, options, stop } = context;
  const say = (text: string) => context.say(`${chain.name}: ${text}`);
  const services = sources.filter((source) => 'url' in source);
  /** The height at which the next service continues. */
  let { from } = options;
  const onIngested = async (next: number) => {
    from = next;
  };
  if (services.length === 0) say('not followed: add a node or url to its sources');
  for (let [turn, wait] = [0, RETRY_MS]; services.length > 0 && !stop.aborted; turn++) {
    const service = services[turn % services.length] as (typeof services)[number];
    const awayMsMax = services.length > 1 ? { awayMsMax: AWAY_MS_MAX } : {};
    const begin = from === undefined ? {} : { from };
    const followed = { ...options, ...awayMsMax, ...service, ...begin, onIngested, chain: chain.name };
    try {
      const follower = await SourceFollower.open(followed, config, stop);
      wait = RETRY_MS;
      await follower.run(ingestTarget(client), say);
      return;
    } catch (error) {
      if (stop.aborted) return;
      if (!isOfSource(error)) throw error;
      // Also after a usage error: an address may serve another network temporarily.
      say(
        `${error.code === 'usage' ? 'not followed' : 'stopped following this service'}: ${reasonOf(error)}`,
      );
      // Wait only after every service has failed.
      if (turn % services.length === services.length - 1) {
        await pause(wait, stop);
        wait = Math.min(wait * 2, RETRY_MS_MAX);
      }
    }
  }
}

/** Whether an error is of the source, not of this process or of its store. */
const isOfSource = (error: unknown): error is ProductError =>
  error instanceof ProductError && !error.code.startsWith('store_');

async function followValues(values: ValueBackfill, { client, stop, say }: FollowContext): Promise<void> {
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
