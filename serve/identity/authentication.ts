import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { HttpError } from '../http/errors.ts';
import type { Accounts } from './accounts/accounts.ts';
import { hasQueryToken, type Principal, principalOf, sentTwice, TokenError } from './accounts/principal.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the caller of an API path showed a key, or a token for the whole API: then no limit counts. */
    isKnownCaller: boolean;
  }
}

interface Verified {
  /** The whole header, for the few seconds in which it is believed. */
  readonly header: Buffer;
  readonly isKnownCaller: boolean;
  readonly until: number;
}

const VERIFIED_MAX = 10_000;

/**
 * Who calls the API. A key or token that is wrong, over or revoked is refused, never taken for an anonymous call.
 * What was verified is believed for some seconds, unless this process itself changes it.
 */
export function authenticateCallers(app: FastifyInstance, accounts: Accounts): void {
  const verified = new VerifiedCallers(accounts);
  app.decorateRequest('isKnownCaller', false);
  app.addHook('onRequest', (request, _reply, next) => {
    const { authorization } = request.headers;
    if (hasQueryToken(request.url)) return next(sentTwice());
    if (authorization === undefined) return next();
    const known = verified.find(authorization);
    if (known) {
      request.isKnownCaller = known.isKnownCaller;
      return next();
    }
    verified.verify(request, authorization).then((isKnownCaller) => {
      request.isKnownCaller = isKnownCaller;
      next();
    }, next);
  });
}

class VerifiedCallers {
  readonly #accounts: Accounts;
  readonly #byGrant = new LRUCache<string, Verified>({ max: VERIFIED_MAX });
  /** Counts what was forgotten: a check that was under way meanwhile may have seen what was before. */
  #forgotten = 0;

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
    const forgetAll = () => {
      this.#forgotten++;
      this.#byGrant.clear();
    };
    accounts.users.onChange(forgetAll);
    accounts.applications.onChange(forgetAll);
    accounts.grants.onChange(({ id }) => {
      this.#forgotten++;
      this.#byGrant.delete(id);
    });
  }

  find(header: string): Verified | null {
    const known = this.#byGrant.get(grantOf(header));
    if (!known || known.until <= this.#accounts.clock.now()) return null;
    const given = Buffer.from(header, 'latin1');
    return given.length === known.header.length && timingSafeEqual(given, known.header) ? known : null;
  }

  /** Whether the caller is known; throws when the token is no good. */
  async verify(request: FastifyRequest, header: string): Promise<boolean> {
    const before = this.#forgotten;
    const caller = await callerOf(this.#accounts, request);
    const { grant, by, scopes } = caller;
    const isKnownCaller = by === 'API key' || scopes === 'all' || scopes.includes('api');
    const { KEY_CACHE_SECONDS } = this.#accounts.settings;
    if (grant !== null && KEY_CACHE_SECONDS > 0 && before === this.#forgotten) {
      const until = this.#accounts.clock.now() + KEY_CACHE_SECONDS * 1000;
      this.#byGrant.set(grant.id, {
        header: Buffer.from(header, 'latin1'),
        isKnownCaller,
        until: grant.access_expires_ms > 0 ? Math.min(until, grant.access_expires_ms) : until,
      });
    }
    return isKnownCaller;
  }
}

async function callerOf(accounts: Accounts, request: FastifyRequest): Promise<Principal> {
  try {
    return await principalOf(accounts, request);
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    throw new HttpError('unauthorized', 'This API key is unknown or was revoked.', error.headers);
  }
}

/** The part of the header that names the grant, by its place alone: what was verified is compared whole. */
const grantOf = (header: string): string => header.slice(ID_FROM, ID_UNTIL);
const ID_FROM = 'Bearer cmk_'.length;
const ID_UNTIL = ID_FROM + 22;

/** Paths that take an access token as query parameter too. */
const TAKES_ACCESS_TOKEN = /^\/(?:api\/|oauth\/token\/info(?:\?|$))/;

/**
 * Moves the query parameter `access_token` into the header before anything else sees the address: so it is in no
 * log, no cache key and no link. One that comes beside a header stays, and is refused.
 */
export function hideAccessToken(raw: IncomingMessage): string {
  const url = raw.url ?? '/';
  if (!url.includes('access_token=') || !TAKES_ACCESS_TOKEN.test(url)) return url;
  if (raw.headers.authorization !== undefined) return url;
  const [path = '', query = ''] = url.split(/\?([\s\S]*)/, 2);
  const fields = query.split('&');
  const given = fields.filter((field) => field.startsWith('access_token='));
  if (given.length !== 1) return url;
  const rest = fields.filter((field) => !field.startsWith('access_token='));
  raw.headers.authorization = `Bearer ${(given[0] ?? '').slice('access_token='.length)}`;
  return rest.length > 0 ? `${path}?${rest.join('&')}` : path;
}
