import type { Accounts } from './accounts.ts';
import { FieldError } from './field-error.ts';
import { hashPassword, passwordFault } from './passwords.ts';
import type { User } from './tables.ts';
import { changeUser } from './users.ts';
import { unlinkWallets } from './wallets.ts';

/**
 * Sets a new password, and ends what somebody who knew the old one may have: sessions, by a new epoch; tokens of the
 * password grant; and wallets, unless the user keeps them. Returns how many wallets were unlinked.
 */
export async function setPassword(
  accounts: Accounts,
  user: User,
  password: string,
  { keepWallets = false }: { readonly keepWallets?: boolean } = {},
): Promise<number> {
  const fault = passwordFault(password, user.username);
  if (fault) throw new FieldError('password', fault);
  const password_hash = await hashPassword(password);
  const unlink = async () => (keepWallets ? 0 : unlinkWallets(accounts, user));
  // First: where the new password works, no wallet is linked any more.
  const unlinked = await unlink();
  await changeUser(accounts, user.id, ({ session_epoch }) => ({
    password_hash,
    password_changed_ms: accounts.clock.now(),
    session_epoch: session_epoch + 1,
  }));
  // Once more: who still had a session may have linked one meanwhile.
  return unlinked + (await unlink());
}
