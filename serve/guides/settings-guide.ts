import type { z } from 'zod';
import { alertSettings } from '../../aggregate/alerts/settings.ts';
import { aggregateSettings } from '../../aggregate/settings.ts';
import { isSecretSetting } from '../../infra/config/read.ts';
import { infraSettings } from '../../infra/config/settings.ts';
import { distributedSettings } from '../../infra/distributed/settings.ts';
import { ingestSettings } from '../../ingest/settings.ts';
import { httpSettings } from '../http/settings.ts';
import { identitySettings } from '../identity/accounts/settings.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

const ofEveryProcess = Object.fromEntries(
  Object.entries(infraSettings).filter(([name]) => !(name in distributedSettings)),
);

const GROUPS: readonly (readonly [title: string, settings: Shape])[] = [
  ['Serving', httpSettings],
  ['The process and its store', ofEveryProcess],
  ['Loading', ingestSettings],
  ['Accounts and OAuth', identitySettings],
  ['Alerts', alertSettings],
  ['Only with `PROFILE=distributed`', { ...distributedSettings, ...aggregateSettings }],
];

/** Every setting with its default and meaning, from what reads the environment. */
export function settingsGuide(): string {
  const tables = GROUPS.map(([title, settings]) => `## ${title}\n\n${table(settings)}`);
  return `# Settings

Every setting is an environment variable and is checked when a process starts: a wrong one stops it with a line that names the variable and what it accepts. \`chain-metrics settings\` prints this list with the current values.

Secrets can be in files, as Docker and Kubernetes mount them: \`KAFKA_PASSWORD_FILE=/run/secrets/kafka\` takes the place of \`KAFKA_PASSWORD\`, without the newline at the end. Both at once is an error. Settings for which this works: ${secrets().join(', ')}.

${tables.join('\n\n')}
`;
}

const secrets = (): string[] =>
  GROUPS.flatMap(([, settings]) => Object.keys(settings).filter(isSecretSetting)).map(
    (name) => `\`${name}\``,
  );

function table(settings: Shape): string {
  const rows = Object.entries(settings).map(([name, schema]) => {
    const { data: fallback } = schema.safeParse(undefined);
    const shown = fallback === undefined || fallback === '' ? '' : `\`${String(fallback)}\``;
    return `| \`${name}\` | ${shown} | ${(schema.description ?? '').replaceAll('|', '\\|')} |`;
  });
  return `| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}`;
}
