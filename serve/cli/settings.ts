import { isSecretSetting } from '../../infra/config/read.ts';
import { readConfig, settings } from '../settings.ts';
import { alignedTable } from './words.ts';

/** Every setting with its meaning, default and current value: the same object that reads the environment. */
export function settingsTable(env: NodeJS.ProcessEnv = process.env): string {
  const rows = Object.entries(settings.shape).map(([name, schema]) => {
    const fallback = schema.safeParse(undefined).data;
    const given = env[name];
    return [
      name,
      given === undefined || given === '' ? '' : isSecretSetting(name) ? '(hidden)' : given,
      fallback === undefined ? 'none' : String(fallback),
      schema.description ?? '',
    ];
  });
  return alignedTable([['setting', 'set to', 'default', 'meaning'], ...rows]);
}

export function settingsCommand(): number {
  process.stdout.write(`Settings are environment variables.\n\n${settingsTable()}\n`);
  // A wrong value is shown in the table too; here it gets its own line, as every command would give it.
  readConfig();
  return 0;
}
