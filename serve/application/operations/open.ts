import { setTimeout } from 'node:timers/promises';
import { holdsStore } from '../../../infra/data-directory.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { ProcessRole } from '../../settings/process-roles.ts';
import type { Config } from '../../settings/settings.ts';
import { openPipeline } from '../compose/compose.ts';
import { LocalClient, type OperationClient } from './client.ts';
import { SocketClient } from './socket-client.ts';

/** A server opens its socket a moment after it has locked the data directory. */
const TRIES = 10;
const BETWEEN_TRIES_MS = 200;

/** The roles of a command in the distributed profile. */
const COMMAND_ROLES: ReadonlySet<ProcessRole> = new Set(['ingest']);

/**
 * Runs operations in the server that has locked the data directory, or in this process if there is none. In the distributed
 * profile every command uses the shared services itself. `onNoStore` is called before a new store is created.
 */
export async function openOperations(config: Config, onNoStore: () => void): Promise<OperationClient> {
  if (config.PROFILE === 'distributed') {
    return new LocalClient(await openPipeline(config, { roles: COMMAND_ROLES }));
  }
  for (let tries = 1; ; tries++) {
    const server = await SocketClient.connect(config.DATA_DIR);
    if (server) return server;
    if (!holdsStore(config.DATA_DIR)) onNoStore();
    try {
      return new LocalClient(await openPipeline(config));
    } catch (error) {
      if (!(error instanceof ProductError) || error.code !== 'store_in_use') throw error;
      if (tries === TRIES) {
        throw new ProductError(
          'store_in_use',
          `${error.message}, and does not accept commands`,
          error.detail,
        );
      }
    }
    await setTimeout(BETWEEN_TRIES_MS);
  }
}
