import { resolve } from 'node:path';
import { z } from 'zod';
import { alertSettings } from '../aggregate/alerts/settings.ts';
import { aggregateSettings } from '../aggregate/settings.ts';
import { type Environment, readSettings } from '../infra/config/read.ts';
import { infraSettings } from '../infra/config/settings.ts';
import { ingestSettings } from '../ingest/settings.ts';
import { httpSettings } from './http/settings.ts';
import { identitySettings } from './identity/accounts/settings.ts';

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
});

export type Config = z.output<typeof settings>;

/** Reads the environment. Throws `setting_invalid` with one line that names the setting and what it accepts. */
export function readConfig(env: Environment = process.env): Config {
  const config = readSettings(settings, env);
  return { ...config, DATA_DIR: resolve(config.DATA_DIR) };
}
