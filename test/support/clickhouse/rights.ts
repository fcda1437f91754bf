import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const GUIDE = readFileSync(new URL('../../../serve/guides/texts/distributed.md', import.meta.url), 'utf8');

/** What a user of ClickHouse may do, and within which limits. */
export interface Rights {
  readonly grants: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  /** Of an hour. */
  readonly quota: Readonly<Record<string, string>>;
}

/** The rights that the statements of the guide give to a user. */
export function documentedRights(user: string): Rights {
  const blocks = [...GUIDE.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const statements = blocks.join('').replaceAll(/--.*$/gm, '').split(';');
  const of = (pattern: RegExp) =>
    statements.flatMap((statement) => pattern.exec(statement.replaceAll(/\s+/g, ' ').trim())?.[1] ?? []);
  return {
    grants: of(new RegExp(`^(GRANT .*) TO ${user}$`)),
    settings: valuesOf(of(new RegExp(`^CREATE SETTINGS PROFILE ${user} SETTINGS (.*)$`))),
    quota: valuesOf(of(new RegExp(`^CREATE QUOTA ${user} FOR INTERVAL 1 hour MAX (.*) TO ${user}$`))),
  };
}

const valuesOf = (lists: readonly string[]) =>
  Object.fromEntries(
    lists.flatMap((list) => list.split(', ').map((one) => one.split(' = ') as [string, string])),
  );

/** The front reads what is inserted from files, where a server reads it from the request. */
const OF_THE_FRONT = ['GRANT READ ON FILE', 'GRANT CREATE TEMPORARY TABLE ON *.*'];

/**
 * Writes the configuration of an engine whose only user has these rights. The engine of the tests has no other users:
 * each is tried after a restart.
 */
export function writeRights(directory: string, { grants, settings, quota }: Rights): string {
  const users = join(directory, 'users.xml');
  const elements = (values: Readonly<Record<string, string>>) =>
    Object.entries(values)
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join('');
  const queries = [...grants, ...OF_THE_FRONT].map((grant) => `<query>${grant}</query>`).join('');
  writeFileSync(
    users,
    `<clickhouse><profiles><default>${elements(settings)}</default></profiles>
    <quotas><default><interval><duration>3600</duration>${elements(quota)}</interval></default></quotas>
    <users><default><password></password><networks><ip>::/0</ip></networks><profile>default</profile>
    <quota>default</quota><grants>${queries}</grants></default></users></clickhouse>`,
  );
  const file = join(directory, 'config.xml');
  writeFileSync(
    file,
    `<clickhouse><users_config>${users}</users_config>
    <user_directories><users_xml><path>${users}</path></users_xml></user_directories></clickhouse>`,
  );
  return file;
}
