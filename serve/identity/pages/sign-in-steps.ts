import type { FastifyReply } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { rememberCaller } from '../../accounts/devices.ts';
import { startSession } from '../../accounts/sessions.ts';
import type { Session, User } from '../../accounts/tables.ts';
import { recordSignIn } from '../../accounts/users.ts';
import { localPath, seeOther } from '../../pages/page.ts';

const HOME = '/profile';

/** A user and the authentication methods that they have passed (RFC 8176). */
interface AuthenticatedUser {
  readonly user: User;
  readonly amr: Session['amr'];
}

/** Continues after the password or the wallet: with the second factor, if the user has enabled it. */
export async function continueSignIn(
  accounts: Accounts,
  reply: FastifyReply,
  authenticated: AuthenticatedUser,
  next: string,
): Promise<FastifyReply> {
  const { user, amr } = authenticated;
  if (user.totp_secret === '') return completeSignIn(accounts, reply, authenticated, next);
  await startSession(accounts, reply, user, { amr, awaits: 'two-factor' });
  return seeOther(reply, `/sign-in/two-factor?next=${encodeURIComponent(next)}`);
}

/** Starts the session after all factors. */
export async function completeSignIn(
  accounts: Accounts,
  reply: FastifyReply,
  { user, amr }: AuthenticatedUser,
  next: string,
  flash?: string,
): Promise<FastifyReply> {
  await recordSignIn(accounts, user);
  await startSession(accounts, reply, user, { amr });
  await rememberCaller(accounts, reply, user);
  return seeOther(reply, next, flash);
}

/** The path to continue with after sign-in; always a path of this site. */
export const nextPath = (given: string) => localPath(given, HOME);
