/**
 * Browser sessions. Pages get the session with `request.signedIn()` and `request.requireUser()`, which look it up once
 * per request. The cookie holds 256 random bits and the store their hash. Other origins cannot read the cookie,
 * and their forms are refused (`serve/pages/forms.ts`).
 */
import { fastifyCookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HOUR_MS } from '../../infra/days.ts';
import { clientAddress } from '../http/client-address.ts';
import { HttpError } from '../http/errors.ts';
import { type Accounts, ENDED_ROW_TTL_MS } from './accounts.ts';
import { hashSecret, newSecret } from './secrets.ts';
import type { Session, User } from './tables.ts';
import { SECRET_LENGTH } from './tokens.ts';

export interface SignedIn {
  readonly user: User;
  readonly session: Session;
}

/** The page to sign in, which continues with the path `next`. */
export const signInPath = (next: string) => `/sign-in?next=${encodeURIComponent(next)}`;

/** Thrown if a page requires a signed-in user. The answer redirects to the sign-in page. */
export class SignInNeeded extends HttpError {
  constructor() {
    super('unauthorized', 'Sign in first.');
  }
}

const SECOND_FACTOR_MS = 10 * 60_000;
/** The last activity of a session is written at most this often. */
const SEEN_EVERY_MS = 5 * 60_000;
const AGENT_CHARACTERS_MAX = 200;

const resolved = new WeakMap<FastifyRequest, Promise<SignedIn | null>>();

/** The session of a request; null if there is none, if it has ended, or if it awaits the second factor. */
export function sessionOf(accounts: Accounts, request: FastifyRequest): Promise<SignedIn | null> {
  const cached = resolved.get(request);
  if (cached) return cached;
  const found = findSession(accounts, request, '');
  resolved.set(request, found);
  return found;
}

export async function requireUser(accounts: Accounts, request: FastifyRequest): Promise<User> {
  const signedIn = await sessionOf(accounts, request);
  if (signedIn === null) throw new SignInNeeded();
  return signedIn.user;
}

/** The session of a user who still has to enter the second factor. */
export function pendingSessionOf(accounts: Accounts, request: FastifyRequest): Promise<SignedIn | null> {
  return findSession(accounts, request, 'two-factor');
}

async function findSession(
  accounts: Accounts,
  request: FastifyRequest,
  awaits: Session['awaits'],
): Promise<SignedIn | null> {
  const secret = secretOf(accounts, request);
  if (secret === null) return null;
  const id = hashSecret(secret);
  const session = await accounts.failures.check(request, {
    isStored: () => accounts.sessions.has(id),
    find: () => accounts.sessions.get(id),
    // Ended sessions are still stored. They are no failures, since their browsers were signed in.
    isFailure: (found) => found === null,
  });
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

/**
 * Starts a session with a new secret and ends the session of the browser, against session fixation. `amr` lists how the
 * user has signed in.
 */
export async function startSession(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  { amr, awaits = '' }: { readonly amr: Session['amr']; readonly awaits?: Session['awaits'] },
): Promise<void> {
  const { request } = reply;
  await endSession(accounts, request);
  const now = accounts.clock.now();
  const secret = newSecret();
  const lifetime = awaits === '' ? lifetimeMs(accounts) : SECOND_FACTOR_MS;
  const session = {
    id: hashSecret(secret),
    user_id: user.id,
    epoch: user.session_epoch,
    awaits,
    created_ms: now,
    seen_ms: now,
    ended_ms: 0,
    amr,
    address: clientAddress(request),
    agent: (request.headers['user-agent'] ?? '').slice(0, AGENT_CHARACTERS_MAX).toWellFormed(),
    expires_ms: now + lifetime,
  };
  await accounts.sessions.add(session);
  if (awaits === '') accounts.metrics.signIns.inc();
  // The rest of the request belongs to the new session.
  const signedIn = awaits === '' ? { user, session: { ...session, version: 1 } } : null;
  resolved.set(request, Promise.resolve(signedIn));
  reply.setCookie(sessionCookie(accounts), secret, {
    ...cookieRules(accounts),
    maxAge: Math.ceil(lifetime / 1000),
  });
}

/** Ends the session of the request, even if it awaits the second factor. */
export async function endSession(accounts: Accounts, request: FastifyRequest): Promise<void> {
  const secret = secretOf(accounts, request);
  if (secret === null) return;
  await endSessionById(accounts, hashSecret(secret));
}

/** Ends a session; with `user_id`, only if it belongs to that user. Returns whether this call ended it. */
export function endSessionById(accounts: Accounts, id: string, user_id?: string): Promise<boolean> {
  return accounts.sessions.change(id, (current) => {
    const matches = current !== null && (user_id === undefined || current.user_id === user_id);
    if (!matches || current.ended_ms > 0) return { result: false };
    const now = accounts.clock.now();
    return { next: { ...current, ended_ms: now, expires_ms: now + ENDED_ROW_TTL_MS }, result: true };
  });
}

export function clearSessionCookie(accounts: Accounts, reply: FastifyReply): void {
  resolved.set(reply.request, Promise.resolve(null));
  reply.clearCookie(sessionCookie(accounts), cookieRules(accounts));
}

/** Parses the header, since only the scopes of pages register the cookie plugin. */
function secretOf(accounts: Accounts, { headers }: FastifyRequest): string | null {
  const secret =
    headers.cookie === undefined ? undefined : fastifyCookie.parse(headers.cookie)[sessionCookie(accounts)];
  return secret !== undefined && secret.length === SECRET_LENGTH ? secret : null;
}

/** Browsers restrict a `__Host-` cookie to this host and to TLS; without TLS they refuse it. */
const sessionCookie = (accounts: Accounts) => (isSecure(accounts) ? '__Host-session' : 'session');

export const isSecure = ({ settings }: Accounts) => settings.PUBLIC_URL?.startsWith('https:') ?? false;

/** Lax, not strict: users who follow a link from an application must still be signed in. */
export const cookieRules = (accounts: Accounts) =>
  ({ path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(accounts) }) as const;

const lifetimeMs = ({ settings }: Accounts) => settings.SESSION_HOURS * HOUR_MS;
