import type { z } from 'zod';
import { alertSettings } from '../../aggregate/alerts/model/settings.ts';
import { isSecretSetting } from '../../infra/config/read.ts';
import { distributedSettings } from '../../infra/distributed/settings.ts';
import { ingestSettings } from '../../ingest/settings.ts';
import { identitySettings } from '../accounts/settings.ts';
import { httpSettings } from '../http/settings.ts';
import { mailSettings } from '../mail/settings.ts';
import { settings } from '../settings/settings.ts';

type Name = keyof typeof settings.shape;

const EVERYBODY: readonly Name[] = [
  ...(['PROFILE', 'DATA_DIR', 'HOST', 'PORT', 'PUBLIC_URL', 'LOG_LEVEL', 'STOP_SECONDS_MAX'] as const),
  ...(['STORE_MEMORY_BYTES', 'STORE_CONNECTIONS', 'DISK_FREE_BYTES_MIN', 'STORE_FSYNC'] as const),
];
const READERS: readonly Name[] = [
  ...(['TRUST_PROXY', 'ANONYMOUS_PER_MINUTE', 'ANONYMOUS_PER_DAY'] as const),
  ...(['ANONYMOUS_STORE_SECONDS', 'KEY_STORE_SECONDS', 'QUERY_SECONDS_MAX', 'READER_CONNECTIONS'] as const),
  ...(['CONNECTIONS_MAX', 'CONNECTIONS_PER_ADDRESS', 'CACHE_BYTES'] as const),
];

const names = Object.keys(settings.shape) as Name[];
const LOADING = [
  ...names.filter((name) => Object.hasOwn(ingestSettings, name)),
  ...(['BATCH_BYTES', 'WORK_CONCURRENCY'] as const),
];
const withoutEarlier = [...EVERYBODY, ...READERS, ...LOADING];
const restOf = (domain: object) =>
  names.filter((name) => Object.hasOwn(domain, name) && !withoutEarlier.includes(name));

/** Grouped by the people who change them. */
const GROUPS: readonly (readonly [title: string, names: readonly Name[]])[] = [
  ['For everybody', EVERYBODY],
  ['For a service that the public calls', READERS],
  ['For loading and computing', LOADING],
  ['For accounts and OAuth', restOf(identitySettings)],
  ['For alerts', restOf(alertSettings)],
  ['For mail', restOf(mailSettings)],
  ['For many processes, with `PROFILE=distributed`', restOf({ ...distributedSettings, ...httpSettings })],
];

/** Every setting with its default and meaning, from its declaration. */
export function settingsGuide(): string {
  const tables = GROUPS.map(([title, names]) => `## ${title}\n\n${table(names)}`);
  return `# Settings

Every setting is an environment variable and is checked when a process starts: a wrong one stops it with a line that names the variable and what it accepts. \`chain-metrics settings\` prints this list with the current values.

Secrets can be in files, as Docker and Kubernetes mount them: \`KAFKA_PASSWORD_FILE=/run/secrets/kafka\` takes the place of \`KAFKA_PASSWORD\`, without the newline at the end. Both at once is an error. Settings for which this works: ${secrets().join(', ')}.

${tables.join('\n\n')}
`;
}

const secrets = (): string[] => names.filter(isSecretSetting).map((name) => `\`${name}\``);

function table(names: readonly Name[]): string {
  const rows = names.map((name) => {
    const schema: z.ZodType = settings.shape[name];
    const { data: fallback } = schema.safeParse(undefined);
    const shown = fallback === undefined || fallback === '' ? '' : `\`${String(fallback)}\``;
    return `| \`${name}\` | ${shown} | ${(schema.description ?? '').replaceAll('|', '\\|')} |`;
  });
  return `| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}`;
}
