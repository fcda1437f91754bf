import type { Accounts } from './accounts.ts';
import { FieldError } from './field-error.ts';
import { hashPassword, passwordFault } from './passwords.ts';
import type { User } from './tables.ts';
import { changeUser } from './users.ts';
import { unlinkWallets } from './wallets.ts';

interface PasswordChange {
  readonly keepWallets?: boolean;
  /** Checked again under the lock of the account: a link also ends if the email changes. */
  readonly isStillValid?: (current: User) => boolean;
}

/**
 * Sets a new password, and ends the access of anybody who knew the old password: sessions, by a new epoch; tokens of the
 * password grant; and wallets, unless the user keeps them. Throws a `FieldError` if the sessions of the user have ended
 * since the user was read. So if one password or link allowed two changes, only the first takes effect.
 */
export async function setPassword(
  accounts: Accounts,
  user: User,
  password: string,
  { keepWallets = false, isStillValid = () => true }: PasswordChange = {},
): Promise<{ readonly user: User; readonly unlinkedWallets: number }> {
  const fault = passwordFault(password, user.username);
  if (fault) throw new FieldError('password', fault);
  const password_hash = await hashPassword(password);
  const unlink = async () => (keepWallets ? 0 : unlinkWallets(accounts, user));
  // Unlink before the change, so that no wallet is linked once the new password works.
  const unlinked = await unlink();
  const changed = await changeUser(accounts, user.id, (current) =>
    current.session_epoch === user.session_epoch && isStillValid(current)
      ? {
          password_hash,
          password_changed_ms: accounts.clock.now(),
          session_epoch: current.session_epoch + 1,
        }
      : null,
  );
  if (changed === null) throw new FieldError('link', 'The account has changed meanwhile. Start again.');
  // Unlink again: an old session may have linked a wallet before it ended.
  const unlinkedAfter = await unlink();
  await accounts.mails.notify(user, 'password-changed');
  return { user: changed, unlinkedWallets: unlinked + unlinkedAfter };
}
