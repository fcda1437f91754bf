import type { z } from 'zod';
import { alertSettings } from '../../aggregate/alerts/settings.ts';
import { isSecretSetting } from '../../infra/config/read.ts';
import { distributedSettings } from '../../infra/distributed/settings.ts';
import { httpSettings } from '../http/settings.ts';
import { identitySettings } from '../identity/accounts/settings.ts';
import { settings } from '../settings.ts';

type Name = keyof typeof settings.shape;

const MOST: readonly Name[] = [
  ...(['PROFILE', 'DATA_DIR', 'HOST', 'PORT', 'PUBLIC_URL', 'LOG_LEVEL', 'CHAINS_FILE'] as const),
  ...(['FOLLOW', 'FOLLOW_BEST', 'FOLLOW_SNAPSHOTS', 'FOLLOW_FORCE'] as const),
];
const PUBLIC: readonly Name[] = [
  ...(['TRUST_PROXY', 'ANONYMOUS_PER_MINUTE', 'ANONYMOUS_PER_DAY'] as const),
  ...(['ANONYMOUS_STORE_SECONDS', 'KEY_STORE_SECONDS'] as const),
];
const SIZES: readonly Name[] = [
  ...(['STORE_MEMORY_BYTES', 'STORE_CONNECTIONS', 'READER_CONNECTIONS', 'QUERY_SECONDS_MAX'] as const),
  ...(['CACHE_BYTES', 'ALERT_CACHE_BYTES', 'LINE_BYTES_MAX', 'WORK_CONCURRENCY'] as const),
  ...(['STORE_FSYNC', 'STOP_SECONDS_MAX'] as const),
];
const RETENTION: readonly Name[] = [
  ...(['RETENTION_RAW_DAYS', 'RETENTION_DEAD_LETTERS_DAYS', 'RETENTION_ALERT_EVENTS_DAYS'] as const),
];

const names = Object.keys(settings.shape) as Name[];
const withoutEarlier = [...MOST, ...PUBLIC, ...SIZES, ...RETENTION];
const restOf = (domain: object) =>
  names.filter((name) => Object.hasOwn(domain, name) && !withoutEarlier.includes(name));

/** By who turns them. */
const GROUPS: readonly (readonly [title: string, names: readonly Name[]])[] = [
  ['For everybody', MOST],
  ['For a service that strangers call', PUBLIC],
  ['For the size of the machine', SIZES],
  ['For data that are kept for a limited time', RETENTION],
  ['For accounts and OAuth', restOf(identitySettings)],
  ['For alerts', restOf(alertSettings)],
  ['For many processes, with `PROFILE=distributed`', restOf({ ...distributedSettings, ...httpSettings })],
];

/** Every setting with its default and meaning, from what reads the environment. */
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
