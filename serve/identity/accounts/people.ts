import { domainToUnicode } from 'node:url';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Accounts } from './accounts.ts';
import { hashPassword, isPasswordOf, passwordFault } from './passwords.ts';
import type { User } from './tables.ts';

/** What is wrong with what somebody wrote about an account, by field. */
export class AccountError extends Error {
  readonly field: 'username' | 'email' | 'name' | 'password' | 'code';
  constructor(field: AccountError['field'], publicText: string) {
    super(publicText);
    this.field = field;
  }
}

export interface NewUser {
  readonly username: string;
  readonly email: string;
  readonly name?: string;
  /** Null for an account that signs in with a wallet only. */
  readonly password: string | null;
  readonly is_operator?: boolean;
}

const NAME_CHARACTERS_MAX = 100;
const EMAIL_CHARACTERS_MAX = 254;
/** Names that would pass for the service itself. */
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

/** Makes an account; throws an `AccountError` that names the field at fault. */
export async function createUser(accounts: Accounts, given: NewUser): Promise<User> {
  const username = usernameOf(given.username);
  const email = emailOf(given.email);
  const name = nameOf(given.name ?? '') || username;
  const fault = given.password === null ? null : passwordFault(given.password, username);
  if (fault) throw new AccountError('password', fault);
  const password_hash = given.password === null ? '' : await hashPassword(given.password);
  // One at a time, so that neither a name nor a number is given twice.
  return accounts.locks.run('sign-up', async (lease) => {
    if (await findUser(accounts, username)) throw new AccountError('username', 'This user name is taken.');
    if (email !== '' && (await findUser(accounts, email))) {
      throw new AccountError('email', 'This address belongs to an account already. Sign in instead.');
    }
    const [row] = await accounts.store.rows<{ newest: number }>(
      sql`SELECT max(toUInt64(id)) AS newest FROM ${accounts.users.table}`,
    );
    const user: Omit<User, 'version'> = {
      id: String((row?.newest ?? 0) + 1),
      expires_ms: 0,
      username,
      name,
      email,
      password_hash,
      totp_secret: '',
      totp_step: 0,
      recovery_hashes: [],
      session_epoch: 0,
      is_operator: given.is_operator ?? false,
      locked_ms: 0,
      created_ms: accounts.clock.now(),
      last_sign_in_ms: 0,
      current_sign_in_ms: 0,
    };
    await lease.ensure();
    await accounts.users.add(user);
    return { ...user, version: 1 };
  });
}

/** The account of a user name or an e-mail address, in any case of letters. */
export async function findUser(accounts: Accounts, login: string): Promise<User | null> {
  const wanted = login.trim().toLowerCase();
  if (wanted === '') return null;
  const column = wanted.includes('@') ? sql`email` : sql`username`;
  const [user] = await accounts.users.find(sql`${column} = ${wanted}`, 'toUInt64(id)', 1);
  return user ?? null;
}

/** The user of a name and a password; null when either is wrong, after the same time. */
export async function userByPassword(
  accounts: Accounts,
  login: string,
  password: string,
): Promise<User | null> {
  const user = await findUser(accounts, login);
  const isRight = await isPasswordOf(user?.password_hash ?? '', password);
  return user && isRight && user.locked_ms === 0 ? user : null;
}

/** Changes an account while nobody else does; null when there is none. */
export function changeUser(
  accounts: Accounts,
  id: string,
  change: (user: User) => Partial<Omit<User, 'id' | 'version'>> | null,
): Promise<User | null> {
  return accounts.users.change(id, (current) => {
    const changes = current && change(current);
    if (!current || !changes) return { result: null };
    const next = { ...current, ...changes };
    return { next, result: next };
  });
}

export async function setPassword(accounts: Accounts, user: User, password: string): Promise<void> {
  const fault = passwordFault(password, user.username);
  if (fault) throw new AccountError('password', fault);
  const password_hash = await hashPassword(password);
  // Whoever knew the old password may sit in a session.
  await changeUser(accounts, user.id, ({ session_epoch }) => ({
    password_hash,
    session_epoch: session_epoch + 1,
  }));
}

export function signOutEverywhere(accounts: Accounts, id: string): Promise<User | null> {
  return changeUser(accounts, id, ({ session_epoch }) => ({ session_epoch: session_epoch + 1 }));
}

export async function noteSignIn(accounts: Accounts, { id }: User): Promise<void> {
  const now = accounts.clock.now();
  await changeUser(accounts, id, ({ current_sign_in_ms }) => ({
    last_sign_in_ms: current_sign_in_ms,
    current_sign_in_ms: now,
  }));
}

/** Plain letters only, so that no name looks like another one. */
export function usernameOf(given: string): string {
  const username = given.trim().toLowerCase();
  if (!/^[a-z0-9](?:[a-z0-9._-]{0,37}[a-z0-9])$/.test(username)) {
    throw new AccountError(
      'username',
      'Use 2 to 39 of the letters a to z, digits, dots, hyphens and underscores, with a letter or digit at both ends.',
    );
  }
  if (RESERVED.has(username)) throw new AccountError('username', 'This user name is reserved.');
  return username;
}

function emailOf(given: string): string {
  const email = given.trim().toLowerCase();
  if (email === '') return '';
  const isAddress = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(email);
  if (
    !isAddress ||
    email.length > EMAIL_CHARACTERS_MAX ||
    domainToUnicode(email.split('@')[1] ?? '') === ''
  ) {
    throw new AccountError('email', 'Write an e-mail address such as name@example.org.');
  }
  return email;
}

export function nameOf(given: string): string {
  const name = given.normalize('NFKC').trim();
  if (name.length > NAME_CHARACTERS_MAX)
    throw new AccountError('name', `Use at most ${NAME_CHARACTERS_MAX} characters.`);
  // Control, formatting and direction characters change how the text around them reads.
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name))
    throw new AccountError('name', 'Use letters, digits, spaces and punctuation only.');
  return name;
}
