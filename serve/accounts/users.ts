import { domainToUnicode } from 'node:url';
import { sql } from '../../infra/sql.ts';
import type { Records } from '../stored-records/records.ts';
import type { Accounts } from './accounts.ts';
import { FieldError } from './field-error.ts';
import { displayName } from './names.ts';
import { hashPassword, isPasswordOf, passwordFault } from './passwords.ts';
import type { User } from './tables.ts';

interface NewUser {
  readonly username: string;
  readonly email: string;
  /** Whether an operator vouches for the email. */
  readonly is_email_confirmed?: boolean;
  readonly name?: string;
  /** Null for an account that signs in only with a wallet. */
  readonly password: string | null;
  readonly is_operator?: boolean;
}

const EMAIL_CHARACTERS_MAX = 254;
/** Names that could be mistaken for the service itself. */
const RESERVED = new Set([
  'oauth2',
  'admin',
  'administrator',
  'root',
  'system',
  'support',
  'chain-metrics',
  'api',
]);

/** Creates an account; throws a `FieldError` for an invalid field. */
export async function createUser(accounts: Accounts, given: NewUser): Promise<User> {
  const username = usernameOf(given.username);
  const email = emailOf(given.email);
  const name = displayName(given.name ?? '') || username;
  const fault = given.password === null ? null : passwordFault(given.password, username);
  if (fault) throw new FieldError('password', fault);
  const password_hash = given.password === null ? '' : await hashPassword(given.password);
  // The lock keeps names, emails and ids unique.
  return accounts.locks.run('sign-up', async (lease) => {
    if (await findUserOrDeleted(accounts, username))
      throw new FieldError('username', 'Username is already taken.');
    if (email !== '' && (await findUserOrDeleted(accounts, email))) {
      throw new FieldError('email', 'Email is already taken. Sign in instead.');
    }
    const [row] = await accounts.store.rows<{ newest: number }>(
      sql`SELECT max(toUInt64(id)) AS newest FROM ${accounts.users.table}`,
    );
    const now = accounts.clock.now();
    const user: Omit<User, 'version'> = {
      id: String((row?.newest ?? 0) + 1),
      expires_ms: 0,
      username,
      name,
      email,
      email_confirmed_ms: email !== '' && given.is_email_confirmed ? now : 0,
      password_hash,
      password_changed_ms: 0,
      totp_secret: '',
      totp_step: 0,
      recovery_hashes: [],
      session_epoch: 0,
      is_operator: given.is_operator ?? false,
      locked_ms: 0,
      deleted_ms: 0,
      created_ms: now,
      last_sign_in_ms: 0,
      current_sign_in_ms: 0,
    };
    await lease.ensure();
    await accounts.users.add(user);
    return { ...user, version: 1 };
  });
}

/** Finds an account by username or email, case-insensitively. */
export const findUser = ({ users }: Pick<Accounts, 'users'>, login: string): Promise<User | null> =>
  findIn(users, login);

/** Like `findUser`, but includes accounts that are being deleted. */
export const findUserOrDeleted = ({ users }: Accounts, login: string): Promise<User | null> =>
  findIn(users.withDeleted, login);

async function findIn(records: Pick<Records<User>, 'find'>, login: string): Promise<User | null> {
  const wanted = login.trim().toLowerCase();
  if (wanted === '') return null;
  const column = wanted.includes('@') ? sql`email` : sql`username`;
  const [user] = await records.find(sql`${column} = ${wanted}`, 'toUInt64(id)', 1);
  return user ?? null;
}

/** Checks a password; null if the login or the password is wrong. Both cases take the same time. */
export async function userByPassword(
  accounts: Accounts,
  login: string,
  password: string,
): Promise<User | null> {
  const user = await findUser(accounts, login);
  const isRight = await isPasswordOf(user?.password_hash ?? '', password);
  return user && isRight && user.locked_ms === 0 ? user : null;
}

/** Changes an account under its lock; null if there is none or `change` returns null. */
export function changeUser(
  { users }: Accounts,
  id: string,
  change: (user: User) => Partial<Omit<User, 'id' | 'version'>> | null,
): Promise<User | null> {
  return users.change(id, (current) => {
    const changes = current && change(current);
    if (!current || !changes) return { result: null };
    const next = { ...current, ...changes };
    return { next, result: next };
  });
}

export function signOutEverywhere(accounts: Accounts, id: string): Promise<User | null> {
  return changeUser(accounts, id, ({ session_epoch }) => ({ session_epoch: session_epoch + 1 }));
}

export async function recordSignIn(accounts: Accounts, { id }: User): Promise<void> {
  const now = accounts.clock.now();
  await changeUser(accounts, id, ({ current_sign_in_ms }) => ({
    last_sign_in_ms: current_sign_in_ms,
    current_sign_in_ms: now,
  }));
}

/** Only ASCII characters, so that no username looks like another. */
function usernameOf(given: string): string {
  const username = given.trim().toLowerCase();
  if (!/^[a-z0-9](?:[a-z0-9._-]{0,37}[a-z0-9])$/.test(username)) {
    throw new FieldError(
      'username',
      'Use 2 to 39 letters (a to z), digits, dots, hyphens and underscores. Start and end with a letter or digit.',
    );
  }
  if (RESERVED.has(username)) throw new FieldError('username', 'Username is reserved.');
  return username;
}

/** The normalized address; '' for an empty text. Throws a `FieldError` for other texts that are no address. */
export function emailOf(given: string): string {
  const email = given.trim().toLowerCase();
  if (email === '') return '';
  const isAddress = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(email);
  if (
    !isAddress ||
    email.length > EMAIL_CHARACTERS_MAX ||
    domainToUnicode(email.split('@')[1] ?? '') === ''
  ) {
    throw new FieldError('email', 'Enter a valid email such as name@example.org.');
  }
  return email;
}
