import { reasonOf } from '../../../infra/errors.ts';
import type { Sources } from '../../../ingest/backfill/sources-file.ts';
import type { Config } from '../../settings/settings.ts';
import type { OperationClient } from '../operations/client.ts';
import { backfillTarget, openFeeds } from './backfill-feeds.ts';
import { FeedLoad, loadMeanwhile } from './backfill-rounds.ts';
import type { BackgroundLoad } from './first-data.ts';
import { openDisplays } from './several-displays.ts';
import { plural } from './words.ts';

interface Beside {
  readonly client: OperationClient;
  readonly config: Config;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Loads the blocks that the sources have and the store lacks, while the process serves and computes. */
export function loadBeside(sources: Sources, { client, config, say, signal }: Beside): BackgroundLoad {
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
        ...{ client, display, tellsFailure: true, chain: name },
        portions: chain.portions(target),
      });
    });
    try {
      await loadMeanwhile({ loads, stop: signal });
    } finally {
      displays.end();
    }
    for (const { plan, got, faults } of chains) {
      for (const { source, error } of faults) say(`${plan.chain.name}: ${source}: ${reasonOf(error)}`);
      if (!signal.aborted) say(`${plan.chain.name}: ${plural(got, 'block')} loaded; new ones follow.`);
    }
  };
  const loaded = load();
  return { loaded, ready: loaded };
}
