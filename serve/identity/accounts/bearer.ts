import type { Accounts } from './accounts.ts';
import type { Principal } from './principal.ts';
import { isSecretOf } from './secrets.ts';
import type { Grant, User } from './tables.ts';
import { readToken, type TokenKind } from './tokens.ts';

export type BearerFault = 'unknown' | 'expired' | 'revoked' | 'locked';

const PRINCIPAL_TYPES: Partial<Record<TokenKind, Principal['by']>> = {
  access: 'access token',
  personal: 'personal access token',
  key: 'API key',
};

/** The principal of a bearer token, or why it is refused. Only a caller with the right secret learns the reason. */
export async function bearer(
  accounts: Pick<Accounts, 'users' | 'applications' | 'grants' | 'clock' | 'uses'>,
  text: string,
): Promise<Principal | BearerFault> {
  const token = readToken(text);
  const by = token && PRINCIPAL_TYPES[token.kind];
  if (!token || !by) return 'unknown';
  const grant = await accounts.grants.get(token.id);
  if (!grant || !isSecretOf(grant.access_hash, token.secret)) return 'unknown';
  const isOfKind = token.kind === 'access' ? isOfApplication(grant) : grant.kind === token.kind;
  if (!isOfKind) return 'unknown';
  const fault = faultOf(grant, accounts.clock.now());
  if (fault) return fault;
  const user = await activeUser(accounts, grant);
  if (typeof user === 'string') return user;
  accounts.uses.record(grant.id);
  return { by, user, scopes: grant.access_scopes, grant };
}

function faultOf(grant: Grant, now: number): BearerFault | null {
  if (grant.revoked_ms > 0) return 'revoked';
  if (grant.access_expires_ms > 0 && grant.access_expires_ms <= now) return 'expired';
  return null;
}

/** The user of a grant; 'revoked' when the user or the application of the grant no longer exists. */
export async function activeUser(
  { users, applications }: Pick<Accounts, 'users' | 'applications'>,
  grant: Grant,
): Promise<User | 'locked' | 'revoked'> {
  const [user, application] = await Promise.all([
    users.get(grant.user_id),
    grant.application_id === '' ? null : applications.get(grant.application_id),
  ]);
  if (grant.application_id !== '' && (application === null || application.revoked_ms > 0)) return 'revoked';
  if (user === null) return 'revoked';
  return user.locked_ms > 0 ? 'locked' : user;
}

const isOfApplication = ({ kind }: Grant) => kind === 'code' || kind === 'password';
