import { resolve } from 'node:path';
import { z } from 'zod';
import { alertBounds, alertSettings } from '../../aggregate/alerts/model/settings.ts';
import { aggregateBounds, aggregateSettings } from '../../aggregate/settings.ts';
import { type Environment, readSettings } from '../../infra/config/read.ts';
import { distributedBounds } from '../../infra/distributed/settings.ts';
import { infraSettings } from '../../infra/runtime/settings.ts';
import { ingestSettings } from '../../ingest/settings.ts';
import { identityBounds, identitySettings } from '../accounts/settings.ts';
import { httpBounds, httpSettings } from '../http/settings.ts';
import { mailSettings } from '../mail/settings.ts';

/** All settings, each declared by its domain with name, range, default and meaning. Help, guide and checks derive from it. */
export const settings = z.object({
  ...httpSettings,
  ...infraSettings,
  ...ingestSettings,
  ...aggregateSettings,
  ...identitySettings,
  ...alertSettings,
  ...mailSettings,
});

/** Bounds that are not settings. Tests override them by name. */
export const bounds = {
  ...httpBounds,
  ...distributedBounds,
  ...aggregateBounds,
  ...identityBounds,
  ...alertBounds,
};

export type Config = z.output<typeof settings> & typeof bounds;

/** Reads the environment. Throws `setting_invalid` with one line that names the setting and its accepted values. */
export function readConfig(env: Environment = process.env): Config {
  const config = readSettings(settings, env);
  return { ...bounds, ...config, DATA_DIR: resolve(config.DATA_DIR) };
}
