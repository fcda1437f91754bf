import { isSecretSetting, secretFileSetting } from '../../../../infra/config/read.ts';
import { settings as declared, readConfig } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, print } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../format.ts';

export const settings = command<[], { json?: boolean }>({
  name: 'settings',
  description: 'list every setting with its meaning, default and current value',
  args: jsonOption,
  help: `
Examples:
  PORT=8080 chain-metrics settings
  chain-metrics settings --json | jq -r '.[] | select(.set_to != null) | .name'`,
  // Shows wrong settings instead of failing on them.
  needsConfig: false,
  run: ({ options }) => {
    const listed = listSettings(process.env);
    print(
      listed,
      options,
      () => `Settings are environment variables. ${SECRET_FILES}\n\n${tableOf(listed)}\n`,
    );
    // After the table, a wrong setting fails this command like any other.
    readConfig();
    return EXIT.ok;
  },
});

export const SECRET_FILES = `A secret (${Object.keys(declared.shape).filter(isSecretSetting).join(', ')}) can be in a file, if you set NAME_FILE to its path instead, such as SECRETS_KEY_FILE.`;

interface ListedSetting {
  readonly name: string;
  /** The value; for a secret, only where it is set. */
  readonly set_to: string | null;
  readonly default: string | null;
  readonly meaning: string;
}

function listSettings(env: NodeJS.ProcessEnv): ListedSetting[] {
  return Object.entries(declared.shape).map(([name, schema]) => {
    const fallback = schema.safeParse(undefined).data;
    return {
      name,
      set_to: (isSecretSetting(name) ? secretSource(name, env) : env[name]) || null,
      default: fallback === undefined ? null : String(fallback),
      meaning: schema.description ?? '',
    };
  });
}

function tableOf(listed: readonly ListedSetting[]): string {
  const rows = listed.map((setting) => [
    setting.name,
    setting.set_to ?? '',
    setting.default ?? 'none',
    setting.meaning,
  ]);
  return alignedTable([headings(['setting', 'set to', 'default', 'meaning']), ...rows]);
}

function secretSource(name: string, env: NodeJS.ProcessEnv): string {
  const file = env[secretFileSetting(name)];
  if (file) return `(in ${file})`;
  return env[name] ? '(hidden)' : '';
}
