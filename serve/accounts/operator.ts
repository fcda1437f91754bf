import { ProductError } from '../../infra/errors.ts';
import { sql } from '../../infra/sql.ts';
import { deleteAccount } from './account-removal.ts';
import type { Accounts } from './accounts.ts';
import { FieldError } from './field-error.ts';
import { setPassword } from './password-change.ts';
import { readableCode } from './secrets.ts';
import type { User } from './tables.ts';
import { disableTwoFactor } from './two-factor.ts';
import { changeUser, createUser, findUser, findUserOrDeleted, signOutEverywhere } from './users.ts';
import type { UsersRequest } from './users-request.ts';

/** An account without secrets and hashes. */
export interface ListedUser {
  readonly id: number;
  readonly username: string;
  readonly email: string;
  readonly is_email_confirmed: boolean;
  readonly created_at: string;
  readonly last_sign_in_at: string | null;
  readonly has_password: boolean;
  readonly two_factor: boolean;
  readonly is_operator: boolean;
  readonly is_locked: boolean;
}

export interface UsersResult {
  readonly users: readonly ListedUser[];
  /** The generated password, if the request had none. Only its hash is stored. */
  readonly password?: string;
}

const LISTED_MAX = 100_000;

/** Executes a request. Throws a `ProductError` if it is invalid. */
export async function handleUsersRequest(accounts: Accounts, request: UsersRequest): Promise<UsersResult> {
  try {
    return await execute(accounts, request);
  } catch (error) {
    if (error instanceof FieldError) throw new ProductError('usage', `${error.field}: ${error.message}`);
    throw error;
  }
}

async function execute(accounts: Accounts, request: UsersRequest): Promise<UsersResult> {
  if (request.action === 'list') {
    const found = await accounts.users.find(sql`1`, 'toUInt64(id)', LISTED_MAX);
    return { users: found.map(toListedUser) };
  }
  if (request.action === 'create') {
    const password = request.password ?? generatePassword();
    const user = await createUser(accounts, { ...request, password, is_email_confirmed: true });
    return { users: [toListedUser(user)], ...(request.password === null ? { password } : {}) };
  }
  if (request.action === 'delete') return deleteByOperator(accounts, request.username);
  const user = await findUser(accounts, request.username);
  if (user === null) throw noAccount(request.username);
  const password =
    request.action === 'reset-password' && request.password === null ? generatePassword() : undefined;
  await change(accounts, user, request, password);
  const changed = (await accounts.users.get(user.id)) ?? user;
  return { users: [toListedUser(changed)], ...(password === undefined ? {} : { password }) };
}

/** Also finds accounts whose deletion was interrupted. */
async function deleteByOperator(accounts: Accounts, username: string): Promise<UsersResult> {
  const user = await findUserOrDeleted(accounts, username);
  if (user === null) throw noAccount(username);
  const blockers = await deleteAccount(accounts, user);
  if (blockers.length === 0) return { users: [toListedUser(user)] };
  const reasons = blockers.map(({ text }) => text).join(' ');
  throw new ProductError('usage', `the account ${user.username} cannot be deleted yet: ${reasons}`);
}

const noAccount = (username: string) =>
  new ProductError(
    'usage',
    `there is no account ${username}; \`chain-metrics users list\` shows all accounts`,
  );

async function change(
  accounts: Accounts,
  user: User,
  request: Exclude<UsersRequest, { action: 'list' | 'create' | 'delete' }>,
  password: string | undefined,
): Promise<void> {
  const { id } = user;
  switch (request.action) {
    case 'reset-password':
      return void (await setPassword(accounts, user, password ?? (request.password as string)));
    case 'confirm-email':
      if (user.email === '')
        throw new ProductError(
          'usage',
          `the account ${user.username} has no email; its user sets one on the page /profile/email`,
        );
      return void (await changeUser(accounts, id, () => ({ email_confirmed_ms: accounts.clock.now() })));
    case 'reset-two-factor':
      return void (await disableTwoFactor(accounts, id));
    case 'lock':
      return void (await changeUser(accounts, id, () => ({ locked_ms: accounts.clock.now() })));
    case 'unlock':
      return void (await changeUser(accounts, id, () => ({ locked_ms: 0 })));
    case 'sign-out':
      return void (await signOutEverywhere(accounts, id));
  }
}

function toListedUser(user: User): ListedUser {
  return {
    id: Number(user.id),
    username: user.username,
    email: user.email,
    is_email_confirmed: user.email_confirmed_ms > 0,
    created_at: new Date(user.created_ms).toISOString(),
    last_sign_in_at: user.current_sign_in_ms === 0 ? null : new Date(user.current_sign_in_ms).toISOString(),
    has_password: user.password_hash !== '',
    two_factor: user.totp_secret !== '',
    is_operator: user.is_operator,
    is_locked: user.locked_ms > 0,
  };
}

/** 100 random bits in readable groups. */
function generatePassword(): string {
  return Array.from({ length: 4 }, () => readableCode(5)).join('-');
}
