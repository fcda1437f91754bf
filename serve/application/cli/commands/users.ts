import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { ProductError } from '../../../../infra/errors.ts';
import type { ListedUser, UsersResult } from '../../../accounts/operator.ts';
import type { UsersRequest } from '../../../accounts/users-request.ts';
import type { Config } from '../../../settings/settings.ts';
import { headings } from '../colour.ts';
import { command, jsonOption, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../format.ts';
import { PASSWORD_STDIN, standardInput } from '../standard-input.ts';

interface Options {
  readonly json?: boolean;
  readonly passwordStdin?: boolean;
  readonly email?: string;
  readonly operator?: boolean;
}

export const usersHelp = `Pass the username or the email of a user. If a server runs on DATA_DIR, the command runs in that server, so that sessions
and locks take effect immediately.

Examples:
  chain-metrics users create alice --email alice@example.org     prints a generated password
  chain-metrics users reset-two-factor alice                     after a lost phone
  chain-metrics users list --json | jq '.users[].username'`;

const passwordOption = (command: Command) =>
  command.option(PASSWORD_STDIN, 'read the password from standard input; default: generated');

const list = command<[], Options>({
  name: 'users list',
  description: 'show every account',
  args: jsonOption,
  run: ({ options, config }) => send({ action: 'list' }, options, config),
});

const create = command<[username: string], Options>({
  name: 'users create',
  description: 'create an account',
  args: (command) =>
    passwordOption(jsonOption(command.argument('<name>', 'username')))
      .option('--email <address>', 'email, marked as confirmed', '')
      .option(
        '--operator',
        'make the user an operator: /status shows them why computations fail, and /api/v4/user reports is_admin',
      ),
  help: `
Examples:
  chain-metrics users create alice --email alice@example.org
  printf %s "$PASSWORD" | chain-metrics users create bot --password-stdin`,
  run: async ({ args: [username], options, config }) => {
    const { email = '', operator: is_operator = false } = options;
    const password = await passwordOf(options);
    return send({ action: 'create', username, email, is_operator, password }, options, config);
  },
});

const resetPassword = command<[username: string], Options>({
  name: 'users reset-password',
  description: 'set a new password, sign out everywhere and unlink all wallets',
  args: (command) => passwordOption(jsonOption(command.argument('<name>', 'username or email'))),
  run: async ({ args: [username], options, config }) => {
    const password = await passwordOf(options);
    return send({ action: 'reset-password', username, password }, options, config);
  },
});

const SIMPLE = {
  'confirm-email': 'mark the email of an account as confirmed',
  'reset-two-factor': 'disable two-factor authentication, for example after a lost phone',
  lock: 'lock an account: sign-in, tokens and keys are refused',
  unlock: 'unlock an account',
  'sign-out': 'end all sessions of an account',
  delete: 'delete an account and its personal data',
} as const;

const simple = Object.entries(SIMPLE).map(([name, description]) => {
  const action = name as keyof typeof SIMPLE;
  return command<[username: string], Options>({
    name: `users ${name}`,
    description,
    args: (command) => jsonOption(command.argument('<name>', 'username or email')),
    run: ({ args: [username], options, config }) => send({ action, username }, options, config),
  });
});

export const users = [list, create, resetPassword, ...simple];

const send = (request: UsersRequest, { json = false }: Options, config: Config): Promise<number> =>
  withOperations(
    config,
    async (client) => {
      const result = await client.call('users', request);
      process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : textOf(request, result));
      return EXIT.ok;
    },
    { createsStore: request.action === 'create' },
  );

/** Reads standard input, since every user of the machine can read a command line. */
async function passwordOf({ passwordStdin = false }: Options): Promise<string | null> {
  if (!passwordStdin) return null;
  const password = (await text(standardInput())).replace(/\r?\n$/, '');
  if (password === '')
    throw new ProductError(
      'usage',
      'standard input is empty: pipe the password to it, as in `printf %s "$PASSWORD" | chain-metrics users create …`',
    );
  return password;
}

function textOf({ action }: UsersRequest, { users, password }: UsersResult): string {
  if (action === 'list') return users.length === 0 ? 'There is no account yet.\n' : `${listOf(users)}\n`;
  const [user] = users;
  const done: Record<Exclude<UsersRequest['action'], 'list'>, string> = {
    create: 'was created',
    'reset-password': 'has a new password; its sessions have ended, its wallets are unlinked',
    'confirm-email': 'has a confirmed email now',
    'reset-two-factor': 'now signs in without a second factor',
    lock: 'is locked: sign-in, tokens and keys are refused',
    unlock: 'is unlocked',
    'sign-out': 'is signed out everywhere',
    delete: 'is deleted; its username and email can be used again',
  };
  const secret =
    password === undefined ? '' : `password: ${password}\nSave it now: it cannot be shown again.\n`;
  return `${user?.username} ${done[action]}\n${secret}`;
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
