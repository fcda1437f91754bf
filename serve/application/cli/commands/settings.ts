import { isSecretSetting, secretFileSetting } from '../../../../infra/config/read.ts';
import { settings as declared, readConfig } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, print } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../words.ts';

export const settings = command<[], { json?: boolean }>({
  name: 'settings',
  description: 'list every setting with its meaning, default and current value',
  args: jsonOption,
  help: `
Examples:
  PORT=8080 chain-metrics settings
  chain-metrics settings --json | jq -r '.[] | select(.set_to != null) | .name'`,
  // Reads no configuration before it runs: it has to show wrong values, too.
  needsConfig: false,
  run: ({ options }) => {
    const listed = listSettings(process.env);
    print(
      listed,
      options,
      () => `Settings are environment variables. ${SECRET_FILES}\n\n${tableOf(listed)}\n`,
    );
    // A wrong value is shown in the table; here it fails with its own line, as in every command.
    readConfig();
    return EXIT.ok;
  },
});

/** Named in the help of the program, too. */
export const SECRET_FILES = `Those that are secrets (${Object.keys(declared.shape).filter(isSecretSetting).join(', ')}) can be in a file, whose path is in NAME_FILE.`;

interface ListedSetting {
  readonly name: string;
  /** Of a secret only where it is. */
  readonly set_to: string | null;
  readonly default: string | null;
  readonly meaning: string;
}

/** Every setting with its meaning, default and current value: the same object that reads the environment. */
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
  const rows = listed.map((one) => [one.name, one.set_to ?? '', one.default ?? 'none', one.meaning]);
  return alignedTable([headings(['setting', 'set to', 'default', 'meaning']), ...rows]);
}

function secretSource(name: string, env: NodeJS.ProcessEnv): string {
  const file = env[secretFileSetting(name)];
  if (file) return `(in ${file})`;
  return env[name] ? '(hidden)' : '';
}
