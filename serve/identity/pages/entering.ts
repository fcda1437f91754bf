import type { FastifyReply, FastifyRequest } from 'fastify';
import { localPath, seeOther } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { noteSignIn } from '../accounts/people.ts';
import { startSession } from '../accounts/sessions.ts';
import type { User } from '../accounts/tables.ts';

const HOME = '/profile';

/** After the first proof, whatever it was: in, or on to the second factor. */
export async function enter(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  next: string,
): Promise<FastifyReply> {
  if (user.totp_secret === '') return finish(accounts, request, reply, user, next);
  await startSession(accounts, request, reply, user, 'two-factor');
  return seeOther(reply, `/sign-in/two-factor?next=${encodeURIComponent(next)}`);
}

/** In, after everything was proven. */
export async function finish(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  next: string,
  note?: string,
): Promise<FastifyReply> {
  await noteSignIn(accounts, user);
  await startSession(accounts, request, reply, user);
  return seeOther(reply, next, note);
}

/** Where to go on to after signing in: a path of ours, whatever a link says. */
export const nextOf = (given: string) => localPath(given, HOME);
