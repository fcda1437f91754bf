import { isSecretSetting, secretFileSetting } from '../../../infra/config/read.ts';
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
    process.stdout.write(`Settings are environment variables. ${SECRET_FILES}\n\n${settingsTable()}\n`);
    // A wrong value is shown in the table; here it fails with its own line, as in every command.
    readConfig();
    return EXIT.ok;
  },
});

/** Named in the help of the program, too. */
export const SECRET_FILES = `Those that are secrets (${Object.keys(declared.shape).filter(isSecretSetting).join(', ')}) can be in a file, whose path is in NAME_FILE.`;

/** Every setting with its meaning, default and current value: the same object that reads the environment. */
export function settingsTable(env: NodeJS.ProcessEnv = process.env): string {
  const rows = Object.entries(declared.shape).map(([name, schema]) => {
    const fallback = schema.safeParse(undefined).data;
    const given = env[name];
    return [
      name,
      isSecretSetting(name) ? secretSource(name, env) : (given ?? ''),
      fallback === undefined ? 'none' : String(fallback),
      schema.description ?? '',
    ];
  });
  return alignedTable([['setting', 'set to', 'default', 'meaning'], ...rows]);
}

function secretSource(name: string, env: NodeJS.ProcessEnv): string {
  const file = env[secretFileSetting(name)];
  if (file) return `(in ${file})`;
  return env[name] ? '(hidden)' : '';
}
