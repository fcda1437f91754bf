import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { ProductError } from '../../../../infra/errors.ts';
import type { ListedUser, UsersResult } from '../../../accounts/operator.ts';
import type { UsersRequest } from '../../../accounts/users-request.ts';
import type { Config } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { PASSWORD_STDIN, standardInput } from '../standard-input.ts';
import { alignedTable } from '../words.ts';

interface Options {
  readonly json?: boolean;
  readonly passwordStdin?: boolean;
  readonly email?: string;
  readonly operator?: boolean;
}

export const usersHelp = `A user is named by user name or e-mail address. While a server runs on the data directory, it does the work, so that
a locked user or a lost session ends at once.

Examples:
  chain-metrics users create alice --email alice@example.org     prints a password, once
  chain-metrics users reset-two-factor alice                     after a lost phone
  chain-metrics users list --json | jq '.users[].username'`;

const passwordOption = (command: Command) =>
  command.option(PASSWORD_STDIN, 'read the password from standard input; default: generated');

const list = command<[], Options>({
  name: 'users list',
  description: 'show every account',
  args: jsonOption,
  run: ({ options, config }) => order({ action: 'list' }, options, config),
});

const create = command<[username: string], Options>({
  name: 'users create',
  description: 'create an account',
  args: (command) =>
    passwordOption(jsonOption(command.argument('<name>', 'user name')))
      .option('--email <address>', 'e-mail address, which counts as confirmed', '')
      .option(
        '--operator',
        'show this account the failure reasons on /status; /api/v4/user reports it as is_admin',
      ),
  help: `
Examples:
  chain-metrics users create alice --email alice@example.org
  printf %s "$PASSWORD" | chain-metrics users create bot --password-stdin`,
  run: async ({ args: [username], options, config }) => {
    const { email = '', operator: is_operator = false } = options;
    const password = await passwordOf(options);
    return order({ action: 'create', username, email, is_operator, password }, options, config);
  },
});

const resetPassword = command<[username: string], Options>({
  name: 'users reset-password',
  description: 'set a new password, sign out everywhere and unlink all wallets',
  args: (command) => passwordOption(jsonOption(command.argument('<name>', 'user name or e-mail address'))),
  run: async ({ args: [username], options, config }) => {
    const password = await passwordOf(options);
    return order({ action: 'reset-password', username, password }, options, config);
  },
});

const SIMPLE = {
  'confirm-email': 'state that the e-mail address belongs to the person of the account',
  'reset-two-factor': 'turn the second factor off',
  lock: 'refuse sign-in and every token and key of the account',
  unlock: 'remove the lock',
  'sign-out': 'end every session of the account',
  delete: 'delete the account and everything that is only about its person',
} as const;

const simple = Object.entries(SIMPLE).map(([name, description]) => {
  const action = name as keyof typeof SIMPLE;
  return command<[username: string], Options>({
    name: `users ${name}`,
    description,
    args: (command) => jsonOption(command.argument('<name>', 'user name or e-mail address')),
    run: ({ args: [username], options, config }) => order({ action, username }, options, config),
  });
});

export const users = [list, create, resetPassword, ...simple];

const order = (order: UsersRequest, { json = false }: Options, config: Config): Promise<number> =>
  withOperations(
    config,
    async (client) => {
      const answer = await client.call('users', order);
      process.stdout.write(json ? `${JSON.stringify(answer, null, 2)}\n` : textOf(order, answer));
      return EXIT.ok;
    },
    { makesStore: order.action === 'create' },
  );

/** A password from standard input: never from the command line, which every user of the machine can read. */
async function passwordOf({ passwordStdin = false }: Options): Promise<string | null> {
  if (!passwordStdin) return null;
  const password = (await text(standardInput())).replace(/\r?\n$/, '');
  if (password === '') throw new ProductError('usage', 'standard input holds no password');
  return password;
}

function textOf(order: UsersRequest, { users, password }: UsersResult): string {
  if (order.action === 'list')
    return users.length === 0 ? 'There is no account yet.\n' : `${listOf(users)}\n`;
  const [user] = users;
  const done: Record<Exclude<UsersRequest['action'], 'list'>, string> = {
    create: 'was created',
    'reset-password': 'has a new password; its sessions have ended, its wallets are unlinked',
    'confirm-email': 'has a confirmed e-mail address now',
    'reset-two-factor': 'signs in without a second factor now',
    lock: 'is locked: no sign-in, and no token or key of it works',
    unlock: 'is unlocked',
    'sign-out': 'is signed out everywhere',
    delete: 'is deleted; its names are free again',
  };
  const secret = password === undefined ? '' : `password: ${password}\nIt is shown this once.\n`;
  return `${user?.username} ${done[order.action]}\n${secret}`;
}

function listOf(users: readonly ListedUser[]): string {
  const rows = users.map((user) => [
    String(user.id),
    user.username,
    user.email + (user.email === '' || user.is_email_confirmed ? '' : ' (not confirmed)'),
    user.created_at.slice(0, 10),
    user.last_sign_in_at?.slice(0, 10) ?? 'never',
    user.two_factor ? 'on' : 'off',
    [user.is_operator && 'operator', user.is_locked && 'locked', !user.has_password && 'no password']
      .filter(Boolean)
      .join(', '),
  ]);
  return alignedTable([headings(['id', 'name', 'e-mail', 'since', 'signed in', 'two-factor', '']), ...rows]);
}
