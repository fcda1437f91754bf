import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { isLocator, newLocator } from '../accounts/secrets.ts';
import type { User } from '../accounts/tables.ts';
import { seeOther } from './page.ts';

/** Longer than any redirect takes. */
const KEPT_MS = 5 * 60_000;

/** Redirects to a page that shows a new secret once. Reloading it neither shows the secret again nor repeats the form. */
export async function showOnce(
  { keyValue, seal }: Accounts,
  reply: FastifyReply,
  { id: user_id }: User,
  path: string,
  secret: string,
): Promise<FastifyReply> {
  const id = newLocator();
  const key = keyOf(user_id, id);
  await keyValue.set(key, seal.encrypt(secret, key), { ttlMs: KEPT_MS });
  return seeOther(reply, `${path}?new=${id}`);
}

/** Takes the secret for the page; null if it was shown before or there is none. */
export async function takeSecret(
  { keyValue, seal }: Accounts,
  request: FastifyRequest,
  { id: user_id }: User,
): Promise<string | null> {
  const { new: id } = request.query as { readonly new?: unknown };
  if (typeof id !== 'string' || !isLocator(id)) return null;
  const key = keyOf(user_id, id);
  const stored = await keyValue.take(key);
  return stored === null ? null : seal.decrypt(stored, key);
}

const keyOf = (user_id: string, id: string) => `shown-once/${user_id}/${id}`;
