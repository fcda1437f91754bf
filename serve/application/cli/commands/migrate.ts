import type { Service } from '../../../../infra/ports.ts';
import { command, jsonOption, print, watchForNewStore } from '../command.ts';
import { EXIT } from '../failure.ts';

export const migrate = command<[], { json?: boolean }>({
  name: 'migrate',
  description: 'migrate the schema of the store, and exit',
  args: jsonOption,
  help: `If several processes share a store, run this command as a separate job before you start a new version. Start the new
processes with MIGRATE_ON_START=false: they are alive, but not ready until the migration is done. Running several
migrations at once is safe. Before the migration, \`load\` and \`work\` processes of other versions exit; restarted ones wait
for their schema. Servers keep answering.

Run by an earlier version, the command brings back the tables of this version, unless the later version added a numbered
migration of tables that cannot be computed again. Then it fails and changes nothing.

Examples:
  chain-metrics migrate
  MIGRATE_ON_START=false chain-metrics start --role serve`,
  run: async ({ options, config }) => {
    const reportNewStore = watchForNewStore(config.DATA_DIR);
    const { createPipeline } = await import('../../compose/compose.ts');
    const pipeline = await createPipeline(config, { roles: new Set() });
    try {
      const services = new Set<Service>(['store', 'keyValue']);
      await pipeline.runtime.connect(services, services);
      const isMigrated = await pipeline.schema.migrate();
      reportNewStore();
      print({ is_migrated: isMigrated }, options, () =>
        isMigrated ? 'The schema is migrated.\n' : 'The schema is current.\n',
      );
      return EXIT.ok;
    } finally {
      await pipeline.close();
    }
  },
});
