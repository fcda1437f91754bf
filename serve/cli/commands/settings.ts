import { isSecretSetting } from '../../../infra/config/read.ts';
import { settings as declared, readConfig } from '../../settings.ts';
import { command } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../words.ts';

export const settings = command({
  name: 'settings',
  description: 'list every setting with its meaning, default and current value',
  help: `
Examples:
  PORT=8080 chain-metrics settings`,
  // Reads no configuration before it runs: it has to show wrong values, too.
  needsConfig: false,
  run: () => {
    process.stdout.write(`Settings are environment variables.\n\n${settingsTable()}\n`);
    // A wrong value is shown in the table; here it fails with its own line, as in every command.
    readConfig();
    return EXIT.ok;
  },
});

/** Every setting with its meaning, default and current value: the same object that reads the environment. */
export function settingsTable(env: NodeJS.ProcessEnv = process.env): string {
  const rows = Object.entries(declared.shape).map(([name, schema]) => {
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
