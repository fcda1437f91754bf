import { setTimeout } from 'node:timers/promises';
import { Engine, type ProcessRole } from '../../aggregate/engine.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Config } from '../settings.ts';
import { LocalOperator } from './local.ts';
import type { Operator } from './operator.ts';
import { ownerOf } from './owner.ts';
import { RemoteOperator } from './remote.ts';

/** The engine: on the data directory for this process alone, or one of many on shared services. */
export async function openEngine(config: Config, roles?: ReadonlySet<ProcessRole>): Promise<Engine> {
  if (config.PROFILE === 'distributed') return Engine.open(config, undefined, roles);
  const owner = await ownerOf(config.DATA_DIR);
  if (owner !== null) {
    throw new ProductError('store_in_use', `${config.DATA_DIR} is in use by process ${owner}`);
  }
  return Engine.open(config);
}

/** A server that has just taken the directory listens a moment later. */
const TRIES = 10;
const BETWEEN_TRIES_MS = 200;

/** What a command does by itself where load and work are done by other processes. */
const COMMAND_ROLES: ReadonlySet<ProcessRole> = new Set(['ingest']);

/** The server that owns the data directory, or else this process. */
export async function openOperator(config: Config): Promise<Operator> {
  if (config.PROFILE === 'distributed') return new LocalOperator(await openEngine(config, COMMAND_ROLES));
  for (let tries = 1; ; tries++) {
    const remote = await RemoteOperator.connect(config.DATA_DIR);
    if (remote) return remote;
    try {
      return new LocalOperator(await openEngine(config));
    } catch (error) {
      if (!(error instanceof ProductError) || error.code !== 'store_in_use') throw error;
      if (tries === TRIES) {
        throw new ProductError('store_in_use', `${error.message}, which takes no orders`, error.detail);
      }
    }
    await setTimeout(BETWEEN_TRIES_MS);
  }
}
