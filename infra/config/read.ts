import { closeSync, openSync, readSync } from 'node:fs';
import { z } from 'zod';
import { ProductError, reasonOf } from '../errors.ts';

/** The variables of an environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Settings with a secret, or with an address that may contain one. Their values are never shown or logged, and may come
 * from a file.
 */
export const isSecretSetting = (name: string): boolean =>
  /_(PASSWORD|KEY|SECRET|HEADERS|TOKEN)$|^(REDIS|SMTP)_URL$/.test(name);

/** The setting that names the file with a secret, as container platforms mount it. */
export const secretFileSetting = (name: string): string => `${name}_FILE`;

const SECRET_BYTES_MAX = 64 * 1024;

/** Reads settings from the environment. The error of a wrong value is one line with the setting and the valid values. */
export function readSettings<Shape extends z.ZodRawShape>(
  settings: z.ZodObject<Shape>,
  env: Environment,
): z.output<z.ZodObject<Shape>> {
  const given = Object.fromEntries(
    Object.keys(settings.shape)
      .map((name) => [name, isSecretSetting(name) ? readSecret(name, env) : env[name]])
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const read = settings.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const name = String(issue?.path[0]);
  throw wrong(name, isSecretSetting(name) ? '…' : given[name], issue?.message);
}

/** The errors of all invalid settings, by name. */
export function settingFaults(settings: z.ZodObject, env: Environment): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const [name, schema] of Object.entries(settings.shape)) {
    try {
      readSettings(z.object({ [name]: schema }), env);
    } catch (error) {
      faults.set(name, reasonOf(error));
    }
  }
  return faults;
}

/** Reads a secret from the environment, or from the file that NAME_FILE names. */
export function readSecret(name: string, env: Environment): string | undefined {
  const fileSetting = secretFileSetting(name);
  const file = env[fileSetting];
  if (file === undefined || file === '') return env[name];
  if (env[name] !== undefined && env[name] !== '') {
    throw wrong(fileSetting, file, `expected either this setting or ${name}, not both`);
  }
  const secret = textOf(fileSetting, file).replace(/\r?\n$/, '');
  if (secret === '') throw wrong(fileSetting, file, `expected a file that contains ${name}; it is empty`);
  return secret;
}

function textOf(setting: string, file: string): string {
  const buffer = Buffer.alloc(SECRET_BYTES_MAX + 1);
  let length = 0;
  try {
    const handle = openSync(file, 'r');
    try {
      length = readSync(handle, buffer, 0, buffer.length, null);
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    throw wrong(setting, file, `expected a file that can be read: ${reasonOf(error)}`);
  }
  if (length > SECRET_BYTES_MAX) {
    throw wrong(setting, file, `expected a file of at most ${SECRET_BYTES_MAX} bytes`);
  }
  return buffer.toString('utf8', 0, length);
}

const wrong = (name: string, value: unknown, message = '') =>
  new ProductError('setting_invalid', `${name}=${value}: ${message}`.replace(/\s+/g, ' '));
