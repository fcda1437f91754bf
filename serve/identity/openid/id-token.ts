import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Accounts } from '../../accounts/accounts.ts';
import type { NewGrant } from '../../accounts/grants.ts';
import type { Application, User } from '../../accounts/tables.ts';
import { claimsOf } from './claims.ts';
import { SigningKeys } from './signing-keys.ts';

const LIFETIME_SECONDS = 3600;

/**
 * Signs an ID token for the user who authorized a grant (OpenID Connect Core §2); undefined without the scope `openid`.
 * After a refresh it has no nonce (§12.2).
 */
export async function signIdToken(
  accounts: Accounts,
  {
    grant,
    user,
    application,
    scopes,
    accessToken,
    issuer,
    isRefresh,
  }: {
    readonly grant: NewGrant;
    readonly user: User;
    readonly application: Application;
    readonly scopes: readonly string[];
    readonly accessToken: string;
    readonly issuer: string;
    readonly isRefresh: boolean;
  },
): Promise<string | undefined> {
  if (!scopes.includes('openid')) return undefined;
  const alg = application.id_token_alg === 'ES256' ? 'ES256' : 'RS256';
  const { kid, key } = await new SigningKeys(accounts).signer(alg);
  const now = Math.floor(accounts.clock.now() / 1000);
  const claims = {
    ...claimsOf(user, scopes, issuer),
    auth_time: Math.floor(grant.signed_in_ms / 1000),
    amr: [...grant.amr],
    at_hash: hashOf(accessToken),
    ...(isRefresh || grant.nonce === '' ? {} : { nonce: grant.nonce }),
  };
  return new SignJWT(claims)
    .setProtectedHeader({ alg, kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(application.id)
    .setIssuedAt(now)
    .setExpirationTime(now + LIFETIME_SECONDS)
    .sign(key);
}

/** `at_hash`: the left half of the hash that the algorithm uses, which is SHA-256 for both (§3.1.3.6). */
const hashOf = (accessToken: string): string =>
  createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url');
