import { type Sql, sql } from '../../infra/sql.ts';
import type { Records } from '../stored-records/records.ts';
import type { RecordColumns } from '../stored-records/stored-table.ts';
import type { Accounts } from './accounts.ts';
import { revoked } from './grants.ts';
import type { Obstacle } from './personal-data.ts';
import type { User } from './tables.ts';
import { changeUser } from './users.ts';
import { unlinkWallets } from './wallets.ts';

/** Rows that are ended at the same time. */
const PART = 200;
const UNFINISHED_MAX = 1000;

/** What keeps an account from being deleted now. */
export async function deletionObstacles(accounts: Accounts, user: User): Promise<readonly Obstacle[]> {
  const domains = await accounts.personalData();
  return (await Promise.all(domains.map((domain) => domain.obstacles(user)))).flat();
}

/**
 * Deletes an account, or returns what has to be done first. One durable write ends all access: sessions, tokens, keys,
 * wallets and applications of a deleted account are refused from then on. What it leaves behind is removed after it,
 * here or, if the process is killed, by `finishDeletions`; until then nobody gets its names.
 */
export async function deleteAccount(accounts: Accounts, user: User): Promise<readonly Obstacle[]> {
  if (user.deleted_ms === 0) {
    const obstacles = await deletionObstacles(accounts, user);
    if (obstacles.length > 0) return obstacles;
    for (const domain of await accounts.personalData()) {
      // Another Owner may have left since.
      const left = await domain.leave(user);
      if (left.length > 0) return left;
    }
    const deleted = await changeUser(accounts, user.id, ({ session_epoch }) => ({
      deleted_ms: accounts.clock.now(),
      session_epoch: session_epoch + 1,
    }));
    if (deleted !== null) await accounts.mails.notify(deleted, 'account-deleted');
  }
  await removeData(accounts, user);
  return [];
}

/** Removes what is left of accounts whose deletion was interrupted. */
export async function finishDeletions(accounts: Accounts): Promise<void> {
  const unfinished = await accounts.users.withDeleted.find(
    sql`deleted_ms > 0 AND username != ''`,
    'id',
    UNFINISHED_MAX,
  );
  for (const user of unfinished) await removeData(accounts, user);
}

/** Each step can be repeated. The account is emptied last, so it is found again until everything else is removed. */
async function removeData(accounts: Accounts, user: User): Promise<void> {
  const { sessions, grants, applications, store } = accounts;
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
  await unlinkWallets(accounts, user);
  for (const domain of await accounts.personalData()) await domain.remove(user);
  await accounts.users.withDeleted.change(user.id, (row) =>
    row === null || row.deleted_ms === 0 ? { result: undefined } : { next: emptied(row), result: undefined },
  );
  // Replaced versions of a row stay on the disk until they are merged.
  const { table } = accounts.users;
  await store.run(
    sql`ALTER TABLE ${table} DELETE WHERE id = ${user.id} AND username != '' SETTINGS mutations_sync = 1`,
  );
}

/** Ends rows, which the hourly sweep deletes a day later. */
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
