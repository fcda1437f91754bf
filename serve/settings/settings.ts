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

/**
 * Every setting of the product, each declared by its domain: environment name, range, default and meaning. The help
 * text, the guide of settings and the check at the start read this object.
 */
export const settings = z.object({
  ...httpSettings,
  ...infraSettings,
  ...ingestSettings,
  ...aggregateSettings,
  ...identitySettings,
  ...alertSettings,
  ...mailSettings,
});

/** Bounds that are no settings. Tests give others with their names. */
export const bounds = {
  ...httpBounds,
  ...distributedBounds,
  ...aggregateBounds,
  ...identityBounds,
  ...alertBounds,
};

export type Config = z.output<typeof settings> & typeof bounds;

/** Reads the environment. Throws `setting_invalid` with one line that names the setting and what it accepts. */
export function readConfig(env: Environment = process.env): Config {
  const config = readSettings(settings, env);
  return { ...bounds, ...config, DATA_DIR: resolve(config.DATA_DIR) };
}
