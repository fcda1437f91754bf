import { type Accounts, ENDED_ROW_TTL_MS } from './accounts.ts';
import { isSecretOf, newLocator } from './secrets.ts';
import type { Application, Grant, GrantKind, User } from './tables.ts';
import { refreshParts, type Token } from './tokens.ts';

export type NewGrant = Omit<Grant, 'version'>;

/** A grant without a code or a token. */
export function emptyGrant(
  kind: GrantKind,
  {
    user_id,
    application_id = '',
    scopes,
    now,
  }: { user_id: string; application_id?: string; scopes: readonly string[]; now: number },
): NewGrant {
  return {
    id: newLocator(),
    kind,
    user_id,
    application_id,
    name: '',
    scopes,
    redirect_uri: '',
    code_hash: '',
    code_challenge: '',
    nonce: '',
    signed_in_ms: 0,
    amr: [],
    resources: [],
    code_expires_ms: 0,
    code_used_ms: 0,
    access_hash: '',
    access_scopes: scopes,
    access_resources: [],
    access_created_ms: 0,
    access_expires_ms: 0,
    family_hash: '',
    refresh_hash: '',
    previous_refresh_hash: '',
    refreshed_ms: 0,
    refresh_expires_ms: 0,
    created_ms: now,
    revoked_ms: 0,
    expires_ms: 0,
  };
}

/** The grant, revoked together with its code and tokens. */
export const revoked = <G extends NewGrant>(grant: G, now: number): G => ({
  ...grant,
  revoked_ms: grant.revoked_ms || now,
  expires_ms: now + ENDED_ROW_TTL_MS,
});

/** Whether the token or code belongs to the grant; also true for a refresh token that was already used. */
export function isTokenOf(grant: Grant, token: Token): boolean {
  if (token.kind === 'refresh') return isSecretOf(grant.family_hash, refreshParts(token).family);
  return isSecretOf(token.kind === 'code' ? grant.code_hash : grant.access_hash, token.secret);
}

/** Revokes a grant that meets the condition. Returns whether this call revoked it. */
export function revokeGrant(
  { grants, clock }: Accounts,
  id: string,
  matches: (grant: Grant) => boolean = () => true,
): Promise<boolean> {
  return grants.change(id, (current) =>
    current && current.revoked_ms === 0 && matches(current)
      ? { next: revoked(current, clock.now()), result: true }
      : { result: false },
  );
}

interface GrantHolder {
  readonly user: User;
  /** Null for a grant without an application. */
  readonly application: Application | null;
}

/**
 * The user and the application of a grant. 'locked' if the user is locked; 'revoked' if the user or the application is no
 * longer valid, or if the password was changed after a password grant.
 */
export async function holderOf(
  accounts: Accounts,
  grant: Grant,
): Promise<GrantHolder | 'locked' | 'revoked'> {
  const [user, application] = await Promise.all([
    accounts.users.get(grant.user_id),
    grant.application_id === '' ? null : activeApplication(accounts, grant.application_id),
  ]);
  if (user === null || (grant.application_id !== '' && application === null)) return 'revoked';
  if (grant.kind === 'password' && grant.created_ms <= user.password_changed_ms) return 'revoked';
  return user.locked_ms > 0 ? 'locked' : { user, application };
}

/** The granted scopes that the application still has. */
export const remainingScopes = (
  granted: readonly string[],
  application: Application | null,
): readonly string[] =>
  application === null ? granted : granted.filter((scope) => application.scopes.includes(scope));

/** The application with an id; null if it is unknown, deleted or blocked, or its owner is locked or deleted. */
export async function activeApplication(accounts: Accounts, id: string): Promise<Application | null> {
  const application = await registeredApplication(accounts, id);
  if (application === null || application.blocked_ms > 0) return null;
  const owner = await accounts.users.get(application.owner_id);
  return owner?.locked_ms === 0 ? application : null;
}

/** The application with an id, even if it is blocked; null if it is unknown or deleted. */
export async function registeredApplication(
  { applications }: Accounts,
  id: string,
): Promise<Application | null> {
  if (!/^[0-9a-f]{64}$/.test(id)) return null;
  const application = await applications.get(id);
  return application && application.revoked_ms === 0 ? application : null;
}
