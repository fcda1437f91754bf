import type { z } from 'zod';
import { ProductError } from '../errors.ts';

/** Settings whose value is a secret: their values are never shown or logged. */
export const isSecretSetting = (name: string): boolean => /_(PASSWORD|KEY)$|^REDIS_URL$/.test(name);

/** Reads settings from the environment; a wrong value is one line that names the setting and what it accepts. */
export function readSettings<Shape extends z.ZodRawShape>(
  settings: z.ZodObject<Shape>,
  env: Readonly<Record<string, string | undefined>>,
): z.output<z.ZodObject<Shape>> {
  const given = Object.fromEntries(
    Object.keys(settings.shape)
      .filter((name) => env[name] !== undefined && env[name] !== '')
      .map((name) => [name, env[name]]),
  );
  const read = settings.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const name = String(issue?.path[0]);
  const value = isSecretSetting(name) ? '…' : given[name];
  throw new ProductError('setting_invalid', `${name}=${value}: ${issue?.message}`.replace(/\s+/g, ' '));
}
