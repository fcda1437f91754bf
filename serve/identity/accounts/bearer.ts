import type { Accounts } from './accounts.ts';
import type { Principal } from './principal.ts';
import { isSecretOf } from './secrets.ts';
import type { Grant, User } from './tables.ts';
import { readToken, type TokenKind } from './tokens.ts';

export type BearerFault = 'unknown' | 'expired' | 'revoked' | 'locked';

const BY: Partial<Record<TokenKind, Principal['by']>> = {
  access: 'access token',
  personal: 'personal access token',
  key: 'API key',
};

/** Who a token stands for, or what is wrong with it. Whether it was revoked is told only to whoever has it. */
export async function bearer(accounts: Accounts, text: string): Promise<Principal | BearerFault> {
  const token = readToken(text);
  const by = token && BY[token.kind];
  if (!token || !by) return 'unknown';
  const grant = await accounts.grants.get(token.id);
  if (!grant || !isSecretOf(grant.access_hash, token.secret)) return 'unknown';
  const isOfKind = token.kind === 'access' ? isOfApplication(grant) : grant.kind === token.kind;
  if (!isOfKind) return 'unknown';
  const fault = faultOf(grant, accounts.clock.now());
  if (fault) return fault;
  const user = await liveUser(accounts, grant);
  if (typeof user === 'string') return user;
  accounts.uses.touch(grant.id);
  return { by, user, scopes: grant.access_scopes, grant };
}

/** What ends a token whoever shows it. */
export function faultOf(grant: Grant, now: number): BearerFault | null {
  if (grant.revoked_ms > 0) return 'revoked';
  if (grant.access_expires_ms > 0 && grant.access_expires_ms <= now) return 'expired';
  return null;
}

/** The user of a grant whose application, if any, is still there. */
export async function liveUser(accounts: Accounts, grant: Grant): Promise<User | 'locked' | 'revoked'> {
  const [user, application] = await Promise.all([
    accounts.users.get(grant.user_id),
    grant.application_id === '' ? null : accounts.applications.get(grant.application_id),
  ]);
  if (grant.application_id !== '' && (application === null || application.revoked_ms > 0)) return 'revoked';
  if (user === null) return 'revoked';
  return user.locked_ms > 0 ? 'locked' : user;
}

const isOfApplication = ({ kind }: Grant) => kind === 'code' || kind === 'password';
