import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Accounts } from '../accounts/accounts.ts';
import {
  duplicateToken,
  hasDuplicateToken,
  PRIVATE_TOKEN,
  type Principal,
  principalOf,
  TokenError,
} from '../accounts/principal.ts';
import { readToken } from '../accounts/tokens.ts';
import { HttpError } from '../http/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the caller sent a valid API key or a token with the scope `api`. */
    isKnownCaller: boolean;
  }
}

interface VerifiedCaller {
  readonly header: Buffer;
  /** Reused: holds the header of each request while it is compared with `header`. */
  readonly buffer: Buffer;
  /** The account of the key or token, if no limit of requests applies to it. */
  readonly account: string | undefined;
  readonly until: number;
}

const VERIFIED_MAX = 10_000;

/**
 * Authenticates callers of the metrics API. An invalid, expired or revoked key or token is refused, and never treated as
 * no token. A valid token without the scope `api` is accepted, but has the limits of anonymous callers.
 *
 * Accepted keys and tokens are cached for KEY_CACHE_SECONDS. A change of a grant, user or application in this process
 * invalidates them at once; other processes may accept them until then.
 */
export function authenticateCallers(app: FastifyInstance, accounts: Accounts): void {
  const verified = new VerifiedCallers(accounts);
  app.decorateRequest('isKnownCaller', false);
  app.addHook('onRequest', (request, _reply, next) => {
    const { authorization } = request.headers;
    if (hasDuplicateToken(request)) return next(duplicateToken());
    if (authorization === undefined) return next();
    const cached = verified.find(authorization);
    if (cached) {
      setAccount(request, cached.account);
      return next();
    }
    verified.verify(request, authorization).then((account) => {
      setAccount(request, account);
      next();
    }, next);
  });
}

function setAccount(request: FastifyRequest, account: string | undefined): void {
  request.isKnownCaller = account !== undefined;
  if (account !== undefined) request.knownAccount = account;
}

class VerifiedCallers {
  readonly #accounts: Accounts;
  readonly #byGrant = new LRUCache<string, VerifiedCaller>({ max: VERIFIED_MAX });
  /** Counts invalidations. The result of a check during an invalidation must not be cached. */
  #invalidations = 0;

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
    const invalidateAll = () => {
      this.#invalidations++;
      this.#byGrant.clear();
    };
    accounts.users.onChange(invalidateAll);
    accounts.applications.onChange(invalidateAll);
    accounts.grants.onChange(({ id }) => {
      this.#invalidations++;
      this.#byGrant.delete(id);
    });
  }

  find(header: string): VerifiedCaller | null {
    const cached = this.#byGrant.get(grantOf(header));
    if (!cached || cached.until <= this.#accounts.clock.now()) return null;
    if (header.length !== cached.header.length) return null;
    cached.buffer.write(header, 'latin1');
    return timingSafeEqual(cached.buffer, cached.header) ? cached : null;
  }

  /** The account of a caller without a limit. Throws if the token is invalid. */
  async verify(request: FastifyRequest, header: string): Promise<string | undefined> {
    const before = this.#invalidations;
    const caller = await callerOf(this.#accounts, request);
    const { grant, by, scopes, user } = caller;
    const isKnown = by === 'API key' || scopes === 'all' || scopes.includes('api');
    const account = isKnown ? user.id : undefined;
    const { KEY_CACHE_SECONDS } = this.#accounts.settings;
    if (grant !== null && KEY_CACHE_SECONDS > 0 && before === this.#invalidations) {
      const until = this.#accounts.clock.now() + KEY_CACHE_SECONDS * 1000;
      this.#byGrant.set(grant.id, {
        header: Buffer.from(header, 'latin1'),
        buffer: Buffer.alloc(header.length),
        account,
        until: grant.access_expires_ms > 0 ? Math.min(until, grant.access_expires_ms) : until,
      });
    }
    return account;
  }
}

async function callerOf(accounts: Accounts, request: FastifyRequest): Promise<Principal> {
  try {
    return await principalOf(accounts, request);
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    throw new HttpError(
      'unauthorized',
      'This API key or access token is unknown, expired or revoked, or it is for another resource.',
      error.headers,
    );
  }
}

/** The grant id, by position: all prefixes of tokens have four characters. `find` compares the complete header. */
const grantOf = (header: string): string => header.slice(ID_FROM, ID_UNTIL);
const ID_FROM = 'Bearer cmk_'.length;
const ID_UNTIL = ID_FROM + 22;

/** Paths that accept an access token as query parameter, and in PRIVATE-TOKEN. */
const ACCEPTS_TOKEN = /^\/(?:api\/|oauth\/(?:token\/info|userinfo)(?:\?|$))/;

/**
 * Moves a token from PRIVATE-TOKEN or from the query parameter `access_token` to the header `Authorization` before anything
 * else reads the request. So it is checked in one place, and appears in no log, cache key or link. A second token is not
 * moved, and is refused later.
 */
export function hideAccessToken(raw: IncomingMessage): string {
  const url = raw.url ?? '/';
  const { authorization, [PRIVATE_TOKEN]: personal } = raw.headers;
  const isInQuery = url.includes('access_token=');
  if (!(isInQuery || personal !== undefined) || !ACCEPTS_TOKEN.test(url)) return url;
  if (authorization !== undefined) return url;
  if (personal === undefined) return moveFromQuery(raw, url);
  if (isInQuery) return url;
  // Other kinds of tokens are invalid in PRIVATE-TOKEN.
  const isPersonal = readToken(String(personal))?.kind === 'personal';
  raw.headers.authorization = isPersonal ? `Bearer ${personal}` : 'Private-Token';
  delete raw.headers[PRIVATE_TOKEN];
  return url;
}

function moveFromQuery(raw: IncomingMessage, url: string): string {
  const [path = '', query = ''] = url.split(/\?([\s\S]*)/, 2);
  const fields = query.split('&');
  const tokens = fields.filter((field) => field.startsWith('access_token='));
  if (tokens.length !== 1) return url;
  const rest = fields.filter((field) => !field.startsWith('access_token='));
  raw.headers.authorization = `Bearer ${(tokens[0] ?? '').slice('access_token='.length)}`;
  return rest.length > 0 ? `${path}?${rest.join('&')}` : path;
}
