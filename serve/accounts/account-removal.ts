import { DAY_MS } from '../../infra/days.ts';
import { type Sql, sql } from '../../infra/sql.ts';
import type { Records } from '../stored-records/records.ts';
import type { RecordColumns } from '../stored-records/stored-table.ts';
import { mailsOf } from './account-mails.ts';
import type { Accounts } from './accounts.ts';
import { revoked } from './grants.ts';
import { DELETION_LOCK, type DeletionBlocker } from './personal-data.ts';
import type { User } from './tables.ts';
import { changeUser } from './users.ts';
import { unlinkWallets } from './wallets.ts';

/** Rows that are expired at the same time. */
const PART = 200;
/** Accounts of one sweep. */
const ACCOUNTS_MAX = 1000;

/** The reasons why an account cannot be deleted now. */
export async function findDeletionBlockers(
  accounts: Accounts,
  user: User,
): Promise<readonly DeletionBlocker[]> {
  const domains = await accounts.personalData();
  return (await Promise.all(domains.map((domain) => domain.deletionBlockers(user)))).flat();
}

/**
 * Deletes an account, or returns the reasons why it cannot be deleted. One durable write ends all access: sessions, tokens,
 * keys, wallets and applications of a deleted account are refused from then on. Then its data are removed, here or, if the
 * process is killed, by `finishDeletions`. Its username and email stay taken until all data are removed.
 */
export async function deleteAccount(accounts: Accounts, user: User): Promise<readonly DeletionBlocker[]> {
  if (user.deleted_ms === 0) {
    const { blockers, deleted } = await markDeleted(accounts, user);
    if (blockers.length > 0) return blockers;
    if (deleted !== null) await accounts.mails.notify(deleted, 'account-deleted');
  }
  await removeData(accounts, user);
  return [];
}

/** `deleted` is null if another call has marked the account. */
function markDeleted(
  accounts: Accounts,
  user: User,
): Promise<{ readonly blockers: readonly DeletionBlocker[]; readonly deleted: User | null }> {
  return accounts.locks.run(DELETION_LOCK, async (lease) => {
    const blockers = await findDeletionBlockers(accounts, user);
    if (blockers.length > 0) return { blockers, deleted: null };
    await lease.ensure();
    const deleted = await changeUser(accounts, user.id, ({ session_epoch }) => ({
      deleted_ms: accounts.clock.now(),
      session_epoch: session_epoch + 1,
    }));
    return { blockers, deleted };
  });
}

/**
 * Finishes interrupted deletions, and removes rows that concurrent requests wrote after a deletion. A deletion is unfinished
 * until every version of the account's row is without a name.
 */
export async function finishDeletions(accounts: Accounts): Promise<void> {
  const { store, users, clock } = accounts;
  const found = await store.rows<{ id: string; is_unfinished: number }>(
    sql`SELECT id, countIf(username != '') > 0 AS is_unfinished FROM ${users.table} GROUP BY id
      HAVING max(deleted_ms) > 0 AND (is_unfinished OR max(deleted_ms) > ${clock.now() - DAY_MS})
      ORDER BY is_unfinished DESC LIMIT ${ACCOUNTS_MAX}`,
  );
  for (const { id, is_unfinished } of found) {
    const user = await users.withDeleted.get(id);
    if (user !== null) await (is_unfinished ? removeData : removeRows)(accounts, user);
  }
}

/** Each step can be repeated. The row of the account is cleared last, so an interrupted deletion is found again. */
async function removeData(accounts: Accounts, user: User): Promise<void> {
  await removeRows(accounts, user);
  await accounts.users.withDeleted.change(user.id, (row) =>
    row === null || row.deleted_ms === 0 || row.username === ''
      ? { result: undefined }
      : { next: emptied(row), result: undefined },
  );
  // Replaced versions of a row stay on the disk until they are merged.
  const { table } = accounts.users;
  await accounts.store.run(
    sql`ALTER TABLE ${table} DELETE WHERE id = ${user.id} AND username != '' SETTINGS mutations_sync = 1`,
  );
}

async function removeRows(accounts: Accounts, user: User): Promise<void> {
  const { sessions, grants, applications, waitingMails } = accounts;
  const now = accounts.clock.now();
  await expireAll(sessions, sql`user_id = ${user.id}`, now, (row) => ({
    ...row,
    ended_ms: row.ended_ms || now,
  }));
  await expireAll(grants, sql`user_id = ${user.id}`, now, (row) => revoked(row, now));
  await expireAll(applications, sql`owner_id = ${user.id}`, now, (row) => ({
    ...row,
    revoked_ms: row.revoked_ms || now,
  }));
  await expireAll(waitingMails, sql`${mailsOf(user)} AND topic != 'account-deleted'`, now, (row) => row);
  await unlinkWallets(accounts, user);
  for (const domain of await accounts.personalData()) await domain.remove(user);
}

/** Expires rows. The hourly sweep deletes them a day later. */
async function expireAll<Row extends RecordColumns>(
  records: Records<Row>,
  ofUser: Sql,
  now: number,
  end: (row: Row) => Row,
): Promise<void> {
  const open = sql`${ofUser} AND (expires_ms = 0 OR expires_ms > ${now})`;
  for (;;) {
    const rows = await records.find(open, 'id', PART);
    if (rows.length === 0) return;
    await Promise.all(
      rows.map(({ id }) =>
        records.change(id, (row) =>
          row === null
            ? { result: undefined }
            : { next: { ...end(row), expires_ms: now }, result: undefined },
        ),
      ),
    );
  }
}

const emptied = (user: User): User => ({
  ...user,
  username: '',
  name: '',
  email: '',
  email_confirmed_ms: 0,
  password_hash: '',
  password_changed_ms: 0,
  totp_secret: '',
  totp_step: 0,
  recovery_hashes: [],
  is_operator: false,
  locked_ms: 0,
  last_sign_in_ms: 0,
  current_sign_in_ms: 0,
});
