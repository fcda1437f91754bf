import type {
  ApplicationsRequest,
  ApplicationsResult,
  ListedApplication,
} from '../../../identity/oauth/application-requests.ts';
import type { Config } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../format.ts';

interface Options {
  readonly json?: boolean;
}

export const applicationsHelp = `Pass the application ID that \`applications list\` prints. If a server runs on DATA_DIR, the command runs in that
server, and a blocked application stops at once. \`users lock\` also stops the applications of the account.

Examples:
  chain-metrics applications list
  chain-metrics applications block 3f9c…     after abuse; its tokens work again once it is unblocked`;

const list = command<[], Options>({
  name: 'applications list',
  description: 'show every registered application',
  args: jsonOption,
  run: ({ options, config }) => send({ action: 'list' }, options, config),
});

const CHANGES = {
  block: 'block an application: users cannot authorize it, and its tokens are refused',
  unblock: 'unblock an application; its tokens work again',
} as const;

const changes = Object.entries(CHANGES).map(([name, description]) => {
  const action = name as keyof typeof CHANGES;
  return command<[id: string], Options>({
    name: `applications ${name}`,
    description,
    args: (command) => jsonOption(command.argument('<id>', 'application ID')),
    run: ({ args: [id], options, config }) => send({ action, id }, options, config),
  });
});

export const applications = [list, ...changes];

const send = (request: ApplicationsRequest, { json = false }: Options, config: Config): Promise<number> =>
  withOperations(config, async (client) => {
    const result = await client.call('applications', request);
    process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : textOf(request, result));
    return EXIT.ok;
  });

function textOf({ action }: ApplicationsRequest, { applications }: ApplicationsResult): string {
  if (action === 'list')
    return applications.length === 0 ? 'There is no application yet.\n' : `${listOf(applications)}\n`;
  const done = {
    block: 'is blocked: users cannot authorize it, and its tokens are refused',
    unblock: 'is no longer blocked',
  };
  return `${applications[0]?.name} ${done[action]}\n`;
}

function listOf(applications: readonly ListedApplication[]): string {
  const rows = applications.map((application) => [
    application.id,
    application.name,
    application.owner,
    application.created_at.slice(0, 10),
    [
      application.is_confidential ? 'confidential' : 'public',
      application.is_blocked && 'blocked',
      application.is_owner_locked && 'owner locked',
    ]
      .filter(Boolean)
      .join(', '),
  ]);
  return alignedTable([headings(['application ID', 'name', 'owner', 'since', '']), ...rows]);
}
