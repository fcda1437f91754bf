import type { Service } from '../../../infra/ports.ts';
import { command, jsonOption, print, watchForNewStore } from '../command.ts';
import { EXIT } from '../failure.ts';

export const migrate = command<[], { json?: boolean }>({
  name: 'migrate',
  description: 'migrate the schema of the store, and end',
  args: jsonOption,
  help: `Where several processes share a store, run it as a job of its own before the processes of a new version start, with
MIGRATE_ON_START=false for these: they wait, not ready, until it has ended. Several at once do no harm. Processes of
another version that load or compute end first, and wait at their next start; servers go on.

Run by an older version it migrates back: that is how a rolling upgrade is undone.

Examples:
  chain-metrics migrate
  MIGRATE_ON_START=false chain-metrics start --role serve`,
  run: async ({ options, config }) => {
    const tellNewStore = watchForNewStore(config.DATA_DIR);
    const { createPipeline } = await import('../../compose.ts');
    const pipeline = await createPipeline(config, { roles: new Set() });
    try {
      const services = new Set<Service>(['store', 'keyValue']);
      await pipeline.runtime.connect(services, services);
      const isMigrated = await pipeline.schema.migrate();
      if (!pipeline.runtime.isShared) tellNewStore();
      print({ is_migrated: isMigrated }, options, () =>
        isMigrated ? 'The schema is migrated.\n' : 'The schema is current.\n',
      );
      return EXIT.ok;
    } finally {
      await pipeline.close();
    }
  },
});
