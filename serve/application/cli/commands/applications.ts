import type {
  ApplicationsRequest,
  ApplicationsResult,
  ListedApplication,
} from '../../../identity/oauth/application-requests.ts';
import type { Config } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../words.ts';

interface Options {
  readonly json?: boolean;
}

export const applicationsHelp = `An application is named by its application ID, as \`applications list\` prints it. While a server runs on the data
directory, it does the work, so that a blocked application stops at once. \`users lock\` stops the applications of an
account as well.

Examples:
  chain-metrics applications list
  chain-metrics applications block 3f9c…     after abuse; its tokens work again once it is unblocked`;

const list = command<[], Options>({
  name: 'applications list',
  description: 'show every registered application',
  args: jsonOption,
  run: ({ options, config }) => order({ action: 'list' }, options, config),
});

const CHANGES = {
  block: 'stop an application: no authorization, and none of its tokens works',
  unblock: 'let a blocked application work again',
} as const;

const changes = Object.entries(CHANGES).map(([name, description]) => {
  const action = name as keyof typeof CHANGES;
  return command<[id: string], Options>({
    name: `applications ${name}`,
    description,
    args: (command) => jsonOption(command.argument('<id>', 'application ID')),
    run: ({ args: [id], options, config }) => order({ action, id }, options, config),
  });
});

export const applications = [list, ...changes];

const order = (order: ApplicationsRequest, { json = false }: Options, config: Config): Promise<number> =>
  withOperations(config, async (client) => {
    const answer = await client.call('applications', order);
    process.stdout.write(json ? `${JSON.stringify(answer, null, 2)}\n` : textOf(order, answer));
    return EXIT.ok;
  });

function textOf({ action }: ApplicationsRequest, { applications }: ApplicationsResult): string {
  if (action === 'list')
    return applications.length === 0 ? 'There is no application yet.\n' : `${listOf(applications)}\n`;
  const done = {
    block: 'is blocked: it is not authorized, and none of its tokens works',
    unblock: 'is no longer blocked',
  };
  return `${applications[0]?.name} ${done[action]}\n`;
}

function listOf(applications: readonly ListedApplication[]): string {
  const rows = applications.map((one) => [
    one.id,
    one.name,
    one.owner,
    one.created_at.slice(0, 10),
    [
      one.is_confidential ? 'confidential' : 'public',
      one.is_blocked && 'blocked',
      one.is_owner_locked && 'owner locked',
    ]
      .filter(Boolean)
      .join(', '),
  ]);
  return alignedTable([headings(['application ID', 'name', 'owner', 'since', '']), ...rows]);
}
