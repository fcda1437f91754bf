import type { Accounts } from './accounts.ts';
import { FieldError } from './field-error.ts';
import { hashPassword, passwordFault } from './passwords.ts';
import type { User } from './tables.ts';
import { changeUser } from './users.ts';
import { unlinkWallets } from './wallets.ts';

interface PasswordChange {
  readonly keepWallets?: boolean;
  /** Decides under the lock of the account: of two uses of one link, the second one changes nothing. */
  readonly isStillValid?: (current: User) => boolean;
}

/**
 * Sets a new password, and ends what somebody who knew the old one may have: sessions, by a new epoch; tokens of the
 * password grant; and wallets, unless the user keeps them. Returns how many wallets were unlinked.
 */
export async function setPassword(
  accounts: Accounts,
  user: User,
  password: string,
  { keepWallets = false, isStillValid = () => true }: PasswordChange = {},
): Promise<number> {
  const fault = passwordFault(password, user.username);
  if (fault) throw new FieldError('password', fault);
  const password_hash = await hashPassword(password);
  const unlink = async () => (keepWallets ? 0 : unlinkWallets(accounts, user));
  // First: where the new password works, no wallet is linked any more.
  const unlinked = await unlink();
  const changed = await changeUser(accounts, user.id, (current) =>
    isStillValid(current)
      ? {
          password_hash,
          password_changed_ms: accounts.clock.now(),
          session_epoch: current.session_epoch + 1,
        }
      : null,
  );
  if (changed === null) throw new FieldError('link', 'The account has changed meanwhile. Start again.');
  // Once more: who still had a session may have linked one meanwhile.
  const unlinkedAfter = await unlink();
  await accounts.mails.notify(user, 'password-changed');
  return unlinked + unlinkedAfter;
}
