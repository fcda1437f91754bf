import { sql } from '../../infra/sql.ts';
import { type Accounts, ENDED_ROW_TTL_MS } from './accounts.ts';
import { FieldError } from './field-error.ts';
import { emptyGrant } from './grants.ts';
import { createWithinLimit, KEYS_PER_ACCOUNT } from './limits.ts';
import { displayName } from './names.ts';
import { hashSecret } from './secrets.ts';
import type { Grant, User } from './tables.ts';
import { makeToken } from './tokens.ts';

export type KeyKind = 'key' | 'personal';

/** The names of both kinds, for pages and messages. */
export const KEY_NOUNS: Readonly<Record<KeyKind, string>> = {
  key: 'API key',
  personal: 'personal access token',
};

export interface NewKey {
  readonly name: string;
  /** Empty for API keys: they remove the rate limit and grant nothing else. */
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch; 0 = never. */
  readonly expires_ms: number;
}

/** Creates an API key or a personal access token. Only the hash of the returned text is stored. */
export async function createKey(
  accounts: Accounts,
  { id: user_id }: User,
  kind: KeyKind,
  { name, scopes, expires_ms }: NewKey,
): Promise<{ readonly grant: Grant; readonly text: string }> {
  const now = accounts.clock.now();
  const shownName = displayName(name);
  if (shownName === '') throw new FieldError('name', 'Enter a name.');
  if (kind === 'personal' && scopes.length === 0)
    throw new FieldError('scopes', 'Select at least one scope.');
  if (expires_ms !== 0 && expires_ms <= now) throw new FieldError('expires', 'Enter a date in the future.');
  const rule = {
    count: async () => (await activeKeys(accounts, user_id, kind)).length,
    limit: KEYS_PER_ACCOUNT,
    message: `You have reached the limit of ${KEYS_PER_ACCOUNT} ${KEY_NOUNS[kind]}s. Revoke one first.`,
  };
  return createWithinLimit(accounts, `keys/${user_id}`, rule, async (lease) => {
    const grant = emptyGrant(kind, { user_id, scopes, now });
    const token = makeToken(kind, grant.id);
    const created = {
      ...grant,
      name: shownName,
      access_hash: hashSecret(token.secret),
      access_created_ms: now,
      access_expires_ms: expires_ms,
      expires_ms: expires_ms === 0 ? 0 : expires_ms + ENDED_ROW_TTL_MS,
    };
    await lease.ensure();
    await accounts.grants.add(created);
    return { grant: { ...created, version: 1 }, text: token.text };
  });
}

/** The keys or tokens of a user that are neither revoked nor expired, newest first. */
export function activeKeys({ grants, clock }: Accounts, user_id: string, kind: KeyKind): Promise<Grant[]> {
  return grants.find(
    sql`user_id = ${user_id} AND kind = ${kind} AND revoked_ms = 0
      AND (access_expires_ms = 0 OR access_expires_ms > ${clock.now()})`,
    'created_ms DESC, id',
  );
}
