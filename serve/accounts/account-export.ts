import { sql } from '../../infra/sql.ts';
import { mailsOf } from './account-mails.ts';
import type { Accounts } from './accounts.ts';
import type { KeyKind } from './keys.ts';
import { exportedTime, exportRows, type PersonalRows } from './personal-data.ts';
import type { User } from './tables.ts';

/** Counts revoked keys too, which are kept for a month. */
const KEYS_MAX = 100_000;

/** Everything stored about the owner of an account, without secrets and hashes. */
export async function exportAccount(accounts: Accounts, user: User): Promise<Record<string, unknown>> {
  const own = await exportRows(accounts.store, identityRows(accounts, user));
  const domains = await accounts.personalData();
  const others = await Promise.all(domains.map((domain) => domain.export(user)));
  const account = {
    exported_at: exportedTime(accounts.clock.now()),
    account: exportedUser(user),
    api_keys: await exportedKeys(accounts, user, 'key'),
    personal_access_tokens: await exportedKeys(accounts, user, 'personal'),
  };
  return Object.assign(account, own, ...others);
}

const exportedUser = (user: User) => ({
  id: user.id,
  username: user.username,
  name: user.name,
  email: user.email,
  email_confirmed_at: exportedTime(user.email_confirmed_ms),
  has_password: user.password_hash !== '',
  password_changed_at: exportedTime(user.password_changed_ms),
  two_factor: user.totp_secret !== '',
  recovery_codes: user.recovery_hashes.length,
  is_operator: user.is_operator,
  locked_at: exportedTime(user.locked_ms),
  created_at: exportedTime(user.created_ms),
  last_sign_in_at: exportedTime(user.last_sign_in_ms),
  current_sign_in_at: exportedTime(user.current_sign_in_ms),
});

function identityRows(
  { sessions, wallets, applications, grants, waitingMails }: Accounts,
  user: User,
): Record<string, PersonalRows> {
  const { id } = user;
  const isOfUser = sql`user_id = ${id}`;
  return {
    sessions: {
      table: sessions.table,
      where: isOfUser,
      columns: ['created_ms', 'seen_ms', 'ended_ms', 'expires_ms', 'amr', 'awaits', 'address', 'agent'],
    },
    wallets: {
      table: wallets.table,
      where: isOfUser,
      columns: ['address', 'scheme', 'linked_ms', 'used_ms'],
    },
    applications: {
      table: applications.table,
      where: sql`owner_id = ${id}`,
      columns: [
        ...['id', 'name', 'redirect_uris', 'post_logout_redirect_uris', 'id_token_alg', 'scopes'],
        ...['is_confidential', 'created_ms', 'revoked_ms', 'blocked_ms'],
      ],
    },
    authorizations: {
      table: grants.table,
      where: sql`${isOfUser} AND kind IN ('code', 'password')`,
      columns: [
        ...['application_id', 'kind', 'scopes', 'resources', 'redirect_uri', 'signed_in_ms', 'amr'],
        ...['created_ms', 'refreshed_ms', 'access_expires_ms', 'refresh_expires_ms', 'revoked_ms'],
      ],
    },
    waiting_mails: {
      table: waitingMails.table,
      where: mailsOf(user),
      columns: ['topic', 'address', 'requested_ms', 'expires_ms'],
    },
  };
}

/** Keys of one kind, also revoked ones, with their last use. */
async function exportedKeys({ grants, uses }: Accounts, { id }: User, kind: KeyKind) {
  const keys = await grants.find(sql`user_id = ${id} AND kind = ${kind}`, 'created_ms, id', KEYS_MAX);
  const lastUses = await uses.lastUses(keys.map((key) => key.id));
  return keys.map((key) => ({
    name: key.name,
    scopes: key.scopes,
    created_at: exportedTime(key.created_ms),
    expires_at: exportedTime(key.access_expires_ms),
    revoked_at: exportedTime(key.revoked_ms),
    last_used_at: exportedTime(lastUses.get(key.id) ?? 0),
  }));
}
