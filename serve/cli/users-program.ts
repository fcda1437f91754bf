import type { Command } from 'commander';
import type { UsersOrder } from '../identity/accounts/operator.ts';
import { readConfig } from '../settings.ts';
import { PASSWORD_STDIN } from './standard-input.ts';

/** The `users` commands with their help; what they do is loaded when they run. */
export function addUsers(program: Command, finish: (exitCode: number) => never): void {
  const users = program
    .command('users')
    .description('make accounts, and help people who cannot get into theirs')
    .addHelpText(
      'after',
      `
A user is named by user name or e-mail address. While a server runs on the data directory, it does the work, so that
a locked user or a lost session ends at once.

Examples:
  chain-metrics users create alice --email alice@example.org     prints a password, once
  chain-metrics users reset-two-factor alice                     after a lost phone
  chain-metrics users list --json | jq '.users[].username'`,
    );

  const run = async (order: UsersOrder, options: { json?: boolean }) => {
    const { usersCommand } = await import('./users.ts');
    finish(await usersCommand(order, options, readConfig()));
  };
  const password = async ({ passwordStdin = false }: { passwordStdin?: boolean }) =>
    passwordStdin ? (await import('./users.ts')).readPassword() : null;
  const json = (command: Command) => command.option('--json', 'print the answer as JSON');
  const fromStdin = (command: Command) =>
    command.option(PASSWORD_STDIN, 'take the password from standard input; made up when absent');

  json(users.command('list').description('show every account')).action((options) =>
    run({ action: 'list' }, options),
  );

  fromStdin(json(users.command('create').description('make an account').argument('<name>', 'user name')))
    .option('--email <address>', 'e-mail address', '')
    .option('--operator', 'mark it as an account of the operator')
    .addHelpText(
      'after',
      `
Examples:
  chain-metrics users create alice --email alice@example.org
  printf %s "$PASSWORD" | chain-metrics users create bot --password-stdin`,
    )
    .action(async (username, options) => {
      const { email, operator: is_operator = false } = options;
      await run(
        { action: 'create', username, email, is_operator, password: await password(options) },
        options,
      );
    });

  fromStdin(
    json(
      users
        .command('reset-password')
        .description('give a new password and sign out everywhere')
        .argument('<name>'),
    ),
  ).action(async (username, options) =>
    run({ action: 'reset-password', username, password: await password(options) }, options),
  );

  const SIMPLE = {
    'reset-two-factor': 'turn the second factor off',
    lock: 'let nobody in, and stop every token and key of the account',
    unlock: 'undo a lock',
    'sign-out': 'end every session of the account',
  } as const;
  for (const [action, description] of Object.entries(SIMPLE)) {
    json(
      users.command(action).description(description).argument('<name>', 'user name or e-mail address'),
    ).action((username, options) => run({ action: action as keyof typeof SIMPLE, username }, options));
  }
}
