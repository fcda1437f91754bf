import { type Accounts, ENDED_ROW_TTL_MS } from './accounts.ts';
import { newLocator } from './secrets.ts';
import type { Grant, GrantKind } from './tables.ts';

export type NewGrant = Omit<Grant, 'version'>;

/** A grant that nothing came of yet. */
export function emptyGrant(
  kind: GrantKind,
  of: { user_id: string; application_id?: string; scopes: readonly string[]; now: number },
): NewGrant {
  return {
    id: newLocator(),
    kind,
    user_id: of.user_id,
    application_id: of.application_id ?? '',
    name: '',
    scopes: of.scopes,
    redirect_uri: '',
    code_hash: '',
    code_challenge: '',
    code_expires_ms: 0,
    code_used_ms: 0,
    access_hash: '',
    access_scopes: of.scopes,
    access_created_ms: 0,
    access_expires_ms: 0,
    family_hash: '',
    refresh_hash: '',
    previous_refresh_hash: '',
    refreshed_ms: 0,
    refresh_expires_ms: 0,
    created_ms: of.now,
    revoked_ms: 0,
    expires_ms: 0,
  };
}

/** The grant, dead with all that came of it. */
export const revoked = <G extends NewGrant>(grant: G, now: number): G => ({
  ...grant,
  revoked_ms: grant.revoked_ms || now,
  expires_ms: now + ENDED_ROW_TTL_MS,
});

/** Revokes a grant that meets a condition; tells whether one was revoked now. */
export function revokeGrant(
  accounts: Accounts,
  id: string,
  isTheirs: (grant: Grant) => boolean = () => true,
): Promise<boolean> {
  return accounts.grants.change(id, (current) =>
    current && current.revoked_ms === 0 && isTheirs(current)
      ? { next: revoked(current, accounts.clock.now()), result: true }
      : { result: false },
  );
}
