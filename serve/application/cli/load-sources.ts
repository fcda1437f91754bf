import { reasonOf } from '../../../infra/errors.ts';
import type { Sources } from '../../../ingest/backfill/sources-file.ts';
import type { Config } from '../../settings/settings.ts';
import type { OperationClient } from '../operations/client.ts';
import { backfillTarget, openFeeds } from './backfill-feeds.ts';
import { FeedLoad, loadWithoutPause } from './backfill-rounds.ts';
import type { BackgroundLoad } from './first-data.ts';
import { plural } from './format.ts';
import { openDisplays } from './several-displays.ts';

interface LoadContext {
  readonly client: OperationClient;
  readonly config: Config;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Loads missing blocks from sources while the process serves and computes. */
export function loadSources(sources: Sources, { client, config, say, signal }: LoadContext): BackgroundLoad {
  const load = async () => {
    const { chains } = await openFeeds(sources, config, signal);
    const target = backfillTarget(client);
    const displays = openDisplays(
      process.stderr,
      chains.map(({ plan }) => plan.chain.name),
    );
    const loads = chains.map((chain) => {
      const { name } = chain.plan.chain;
      const display = displays.of(name);
      return new FeedLoad(chain, {
        ...{ client, display, showsFailure: true, chain: name },
        portions: chain.portions(target),
      });
    });
    try {
      await loadWithoutPause({ loads, stop: signal });
    } finally {
      displays.end();
    }
    for (const { plan, fetchedCount, faults } of chains) {
      for (const { source, error } of faults) say(`${plan.chain.name}: ${source}: ${reasonOf(error)}`);
      if (!signal.aborted)
        say(`${plan.chain.name}: ${plural(fetchedCount, 'block')} loaded; following new blocks.`);
    }
  };
  const loaded = load();
  return { loaded, ready: loaded };
}
