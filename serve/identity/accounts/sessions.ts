/**
 * Browsers that are signed in. What pages of other parts need:
 *
 *     const signedIn = await sessionOf(accounts, request);    // { user, session }, or null
 *     const user = await requireUser(accounts, request);      // a User, or a redirect to the sign-in page
 *
 * Both ask the store once a request. The cookie holds 256 random bits, the store their hash; a page of another
 * origin cannot read it, and a form that it sends is refused (`serve/http/pages/forms.ts`).
 */
import { fastifyCookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import { type Accounts, ENDED_ROW_TTL_MS } from './accounts.ts';
import { hashSecret, newSecret } from './secrets.ts';
import type { Session, User } from './tables.ts';
import { SECRET_LENGTH } from './tokens.ts';

export interface SignedIn {
  readonly user: User;
  readonly session: Session;
}

/** Thrown where only users may go: pages answer it with the way to the sign-in page. */
export class SignInNeeded extends HttpError {
  constructor() {
    super('unauthorized', 'Sign in first.');
  }
}

const SECOND_FACTOR_MS = 10 * 60_000;
/** Being seen is written this seldom. */
const SEEN_EVERY_MS = 5 * 60_000;
const AGENT_CHARACTERS_MAX = 200;

const asked = new WeakMap<FastifyRequest, Promise<SignedIn | null>>();

/** Whose session the request belongs to; null when it is nobody's, over, or without its second factor. */
export function sessionOf(accounts: Accounts, request: FastifyRequest): Promise<SignedIn | null> {
  const known = asked.get(request);
  if (known) return known;
  const found = findSession(accounts, request, '');
  asked.set(request, found);
  return found;
}

export async function requireUser(accounts: Accounts, request: FastifyRequest): Promise<User> {
  const signedIn = await sessionOf(accounts, request);
  if (signedIn === null) throw new SignInNeeded();
  return signedIn.user;
}

/** Who has given the password, or signed with a wallet, and must still give the second factor. */
export function halfSessionOf(accounts: Accounts, request: FastifyRequest): Promise<SignedIn | null> {
  return findSession(accounts, request, 'two-factor');
}

async function findSession(
  accounts: Accounts,
  request: FastifyRequest,
  awaits: Session['awaits'],
): Promise<SignedIn | null> {
  const secret = secretOf(accounts, request);
  if (secret === null) return null;
  const session = await accounts.sessions.get(hashSecret(secret));
  const now = accounts.clock.now();
  if (!session || session.awaits !== awaits || session.ended_ms > 0 || session.expires_ms <= now) return null;
  const user = await accounts.users.get(session.user_id);
  if (!user || user.locked_ms > 0 || user.session_epoch !== session.epoch) return null;
  if (awaits === '' && now - session.seen_ms > SEEN_EVERY_MS) await markSeen(accounts, session, now);
  return { user, session };
}

function markSeen(accounts: Accounts, { id }: Session, now: number): Promise<void> {
  return accounts.sessions.change(id, (current) =>
    current === null || current.ended_ms > 0
      ? { result: undefined }
      : { next: { ...current, seen_ms: now, expires_ms: now + lifetimeMs(accounts) }, result: undefined },
  );
}

/** Starts a session with a new secret, whatever cookie the browser had, so that none can be planted. */
export async function startSession(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  awaits: Session['awaits'] = '',
): Promise<void> {
  await endSession(accounts, request);
  const now = accounts.clock.now();
  const secret = newSecret();
  const lifetime = awaits === '' ? lifetimeMs(accounts) : SECOND_FACTOR_MS;
  await accounts.sessions.add({
    id: hashSecret(secret),
    user_id: user.id,
    epoch: user.session_epoch,
    awaits,
    created_ms: now,
    seen_ms: now,
    ended_ms: 0,
    address: request.ip,
    agent: (request.headers['user-agent'] ?? '').slice(0, AGENT_CHARACTERS_MAX).toWellFormed(),
    expires_ms: now + lifetime,
  });
  asked.delete(request);
  reply.setCookie(sessionCookie(accounts), secret, {
    ...cookieRules(accounts),
    maxAge: Math.ceil(lifetime / 1000),
  });
}

/** Ends the session that the request belongs to, at whatever stage it is. */
export async function endSession(accounts: Accounts, request: FastifyRequest): Promise<void> {
  const secret = secretOf(accounts, request);
  if (secret === null) return;
  await endSessionById(accounts, hashSecret(secret));
}

/** Ends one session; of another user's when `user_id` is not theirs nothing happens. */
export function endSessionById(accounts: Accounts, id: string, user_id?: string): Promise<boolean> {
  return accounts.sessions.change(id, (current) => {
    const isTheirs = current !== null && (user_id === undefined || current.user_id === user_id);
    if (!isTheirs || current.ended_ms > 0) return { result: false };
    const now = accounts.clock.now();
    return { next: { ...current, ended_ms: now, expires_ms: now + ENDED_ROW_TTL_MS }, result: true };
  });
}

export function clearSessionCookie(accounts: Accounts, reply: FastifyReply): void {
  reply.clearCookie(sessionCookie(accounts), cookieRules(accounts));
}

/** Only scopes with pages parse cookies by themselves. */
function secretOf(accounts: Accounts, { headers }: FastifyRequest): string | null {
  const secret =
    headers.cookie === undefined ? undefined : fastifyCookie.parse(headers.cookie)[sessionCookie(accounts)];
  return secret !== undefined && secret.length === SECRET_LENGTH ? secret : null;
}

/** Browsers keep a `__Host-` cookie to exactly this host, over TLS; without TLS they would not take it. */
const sessionCookie = (accounts: Accounts) => (isSecure(accounts) ? '__Host-session' : 'session');

export const isSecure = ({ settings }: Accounts) => settings.PUBLIC_URL?.startsWith('https:') ?? false;

/** Lax, not strict: an application sends people here by a link, and they should still be signed in. */
export const cookieRules = (accounts: Accounts) =>
  ({ path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(accounts) }) as const;

const lifetimeMs = ({ settings }: Accounts) => settings.SESSION_HOURS * 3_600_000;
