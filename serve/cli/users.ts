import { text } from 'node:stream/consumers';
import { ProductError } from '../../infra/errors.ts';
import type { ListedUser, UsersAnswer, UsersOrder } from '../identity/accounts/operator.ts';
import type { Config } from '../settings.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import { standardInput } from './standard-input.ts';
import { alignedTable } from './words.ts';

/** Orders something about accounts, from the server that runs on the data directory or in this process. */
export async function usersCommand(
  order: UsersOrder,
  { json = false }: { json?: boolean },
  config: Config,
): Promise<number> {
  const operator = await openOperator(config);
  try {
    const answer = await operator.users(order);
    process.stdout.write(json ? `${JSON.stringify(answer, null, 2)}\n` : errorOf(order, answer));
    return EXIT.ok;
  } finally {
    await operator.close();
  }
}

/** A password from standard input: never from the command line, which everybody on the machine can read. */
export async function readPassword(): Promise<string> {
  const password = (await text(standardInput())).replace(/\r?\n$/, '');
  if (password === '') throw new ProductError('usage', 'standard input holds no password');
  return password;
}

function errorOf(order: UsersOrder, { users, password }: UsersAnswer): string {
  if (order.action === 'list')
    return users.length === 0 ? 'There is no account yet.\n' : `${listOf(users)}\n`;
  const [user] = users;
  const done: Record<Exclude<UsersOrder['action'], 'list'>, string> = {
    create: 'is made',
    'reset-password': 'has a new password; all sessions are over',
    'reset-two-factor': 'signs in without a second factor now',
    lock: 'is locked: no sign-in, and no token or key of it works',
    unlock: 'is unlocked',
    'sign-out': 'is signed out everywhere',
  };
  const secret = password === undefined ? '' : `password: ${password}\nIt is shown this once.\n`;
  return `${user?.username} ${done[order.action]}\n${secret}`;
}

function listOf(users: readonly ListedUser[]): string {
  const rows = users.map((user) => [
    String(user.id),
    user.username,
    user.email,
    user.created_at.slice(0, 10),
    user.last_sign_in_at?.slice(0, 10) ?? 'never',
    user.two_factor ? 'on' : 'off',
    [user.is_operator && 'operator', user.is_locked && 'locked', !user.has_password && 'no password']
      .filter(Boolean)
      .join(', '),
  ]);
  return alignedTable([['id', 'name', 'e-mail', 'since', 'signed in', 'two-factor', ''], ...rows]);
}
