import { setTimeout } from 'node:timers/promises';
import { ProductError } from '../../infra/errors.ts';
import { openPipeline, type ProcessRole } from '../compose.ts';
import type { Config } from '../settings.ts';
import { LocalOperator } from './local.ts';
import type { Operator } from './operator.ts';
import { RemoteOperator } from './remote.ts';

/** A server opens its socket a moment after it has locked the data directory. */
const TRIES = 10;
const BETWEEN_TRIES_MS = 200;

/** The roles of a command where other processes load and compute. */
const COMMAND_ROLES: ReadonlySet<ProcessRole> = new Set(['ingest']);

/**
 * Runs commands in the server that has locked the data directory, or else in this process. The distributed profile
 * locks no directory: there every command works on the shared services by itself.
 */
export async function openOperator(config: Config): Promise<Operator> {
  if (config.PROFILE === 'distributed') {
    return new LocalOperator(await openPipeline(config, { roles: COMMAND_ROLES }));
  }
  for (let tries = 1; ; tries++) {
    const remote = await RemoteOperator.connect(config.DATA_DIR);
    if (remote) return remote;
    try {
      return new LocalOperator(await openPipeline(config));
    } catch (error) {
      if (!(error instanceof ProductError) || error.code !== 'store_in_use') throw error;
      if (tries === TRIES) {
        throw new ProductError('store_in_use', `${error.message}, which accepts no commands`, error.detail);
      }
    }
    await setTimeout(BETWEEN_TRIES_MS);
  }
}
