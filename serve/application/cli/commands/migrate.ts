import type { Service } from '../../../../infra/ports.ts';
import { command, jsonOption, print, watchForNewStore } from '../command.ts';
import { EXIT } from '../failure.ts';

export const migrate = command<[], { json?: boolean }>({
  name: 'migrate',
  description: 'migrate the schema of the store, and exit',
  args: jsonOption,
  help: `If several processes share a store, run it as a separate job before the processes of a new version start. Start the new
processes with MIGRATE_ON_START=false: they stay alive but not ready until the migration is done. Running several
migrations at once is safe. Processes of another version that load or compute exit first, and wait if they are restarted;
servers keep answering.

It also takes back a migration of another version, unless that one changed tables that cannot be computed again.

Examples:
  chain-metrics migrate
  MIGRATE_ON_START=false chain-metrics start --role serve`,
  run: async ({ options, config }) => {
    const tellNewStore = watchForNewStore(config.DATA_DIR);
    const { createPipeline } = await import('../../compose/compose.ts');
    const pipeline = await createPipeline(config, { roles: new Set() });
    try {
      const services = new Set<Service>(['store', 'keyValue']);
      await pipeline.runtime.connect(services, services);
      const isMigrated = await pipeline.schema.migrate();
      tellNewStore();
      print({ is_migrated: isMigrated }, options, () =>
        isMigrated ? 'The schema is migrated.\n' : 'The schema is current.\n',
      );
      return EXIT.ok;
    } finally {
      await pipeline.close();
    }
  },
});
