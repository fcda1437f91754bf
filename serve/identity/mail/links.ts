import { HOUR_MS } from '../../../infra/days.ts';
import { ignore } from '../../../infra/ignore.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { FieldError } from '../../accounts/field-error.ts';
import { setPassword } from '../../accounts/password-change.ts';
import type { User } from '../../accounts/tables.ts';
import { changeUser, findUserOrDeleted } from '../../accounts/users.ts';

// Links in mails are encrypted and not stored. A link contains the state of the account. Using the link changes that state, so a link works once. So it works
// once, and ends if the address or the password changes, or if the user signs out of all sessions.

const LIFETIME_MS = { 'reset-password': HOUR_MS / 2, 'confirm-email': 24 * HOUR_MS };
type LinkPurpose = keyof typeof LIFETIME_MS;

interface Link {
  readonly user_id: string;
  readonly email: string;
  readonly state: string;
  readonly expires_ms: number;
}

/** A valid link and its user. */
export interface OpenLink extends Link {
  readonly user: User;
}

/** The path of a new link. `email` is the address that it is sent to. */
export function linkPath({ seal, clock }: Accounts, purpose: LinkPurpose, user: User, email: string): string {
  const expires_ms = clock.now() + LIFETIME_MS[purpose];
  const link: Link = { user_id: user.id, email, state: stateOf(user), expires_ms };
  return `/${purpose}?link=${seal.encrypt(JSON.stringify(link), contextOf(purpose))}`;
}

/** Null if the link is not valid. */
export async function openLink(
  accounts: Accounts,
  purpose: LinkPurpose,
  text: string,
): Promise<OpenLink | null> {
  const link = unsealed(accounts, purpose, text);
  if (link === null || link.expires_ms <= accounts.clock.now()) return null;
  const user = await accounts.users.get(link.user_id);
  return user !== null && isValid(user, link) ? { ...link, user } : null;
}

/** Throws a `FieldError` with the field `link` if the link was used meanwhile. */
export async function resetPassword(accounts: Accounts, link: OpenLink, password: string): Promise<void> {
  await setPassword(accounts, link.user, password, { isStillValid: (user) => isValid(user, link) });
}

/**
 * Makes the address of a link the confirmed email of its user. Another account loses the address unless it has confirmed it:
 * reading the mail proves more than typing the address.
 */
export async function confirmEmail(accounts: Accounts, { user, ...link }: OpenLink): Promise<void> {
  const { email } = link;
  // The lock of sign-up keeps addresses unique.
  const changed = await accounts.locks.run('sign-up', async (lease) => {
    const holder = await findUserOrDeleted(accounts, email);
    if (holder !== null && holder.id !== user.id) await removeUnconfirmed(accounts, holder, email);
    await lease.ensure();
    return changeUser(accounts, user.id, (current) =>
      isValid(current, link) ? { email, email_confirmed_ms: accounts.clock.now() } : null,
    );
  });
  if (changed === null) throw new FieldError('link', 'The link was used meanwhile.');
  if (user.email !== email) await accounts.mails.notify(user, 'email-changed');
}

async function removeUnconfirmed(accounts: Accounts, { id }: User, email: string): Promise<void> {
  const changed = await changeUser(accounts, id, (current) =>
    current.email === email && current.email_confirmed_ms === 0 ? { email: '' } : null,
  );
  if (changed === null) throw new FieldError('email', 'Another account has confirmed this address.');
}

function unsealed({ seal }: Accounts, purpose: LinkPurpose, text: string): Link | null {
  try {
    return JSON.parse(seal.decrypt(text, contextOf(purpose))) as Link;
  } catch (error) {
    // This service has not created the text.
    return ignore('links.open', null)(error);
  }
}

const contextOf = (purpose: LinkPurpose): string => `mail link ${purpose}`;

const isValid = (user: User, { state }: Pick<Link, 'state'>): boolean =>
  user.locked_ms === 0 && state === stateOf(user);

/** A new password raises the epoch. */
const stateOf = ({ email, email_confirmed_ms, session_epoch }: User): string =>
  `${email} ${email_confirmed_ms} ${session_epoch}`;
