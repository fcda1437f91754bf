import { sql } from '../../../infra/clickhouse/sql.ts';
import { type Accounts, ENDED_ROW_TTL_MS } from './accounts.ts';
import { emptyGrant } from './grants.ts';
import { nameOf } from './people.ts';
import { hashSecret } from './secrets.ts';
import type { Grant, User } from './tables.ts';
import { makeToken } from './tokens.ts';

/** Why a key or token was not made, for the person who wanted it. */
export class KeyError extends Error {
  readonly field: 'name' | 'scopes' | 'expires';
  constructor(field: KeyError['field'], publicText: string) {
    super(publicText);
    this.field = field;
  }
}

export interface NewKey {
  readonly name: string;
  /** Empty for API keys: they lift the rate limit and nothing else. */
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch; 0 = never. */
  readonly expires_ms: number;
}

/** Makes an API key or a personal access token. Its text is returned this once and kept as a hash. */
export async function createKey(
  accounts: Accounts,
  { id: user_id }: User,
  kind: 'key' | 'personal',
  { name, scopes, expires_ms }: NewKey,
): Promise<{ readonly grant: Grant; readonly text: string }> {
  const now = accounts.clock.now();
  const called = nameOf(name);
  if (called === '') throw new KeyError('name', 'Give it a name, so that you know it again.');
  if (kind === 'personal' && scopes.length === 0) throw new KeyError('scopes', 'Choose at least one scope.');
  if (expires_ms !== 0 && expires_ms <= now) throw new KeyError('expires', 'Choose a day in the future.');
  // One at a time for a user, so that the limit holds.
  return accounts.locks.run(`keys/${user_id}`, async (lease) => {
    if ((await liveKeys(accounts, user_id, kind)).length >= accounts.settings.KEYS_PER_ACCOUNT) {
      throw new KeyError(
        'name',
        `You have ${accounts.settings.KEYS_PER_ACCOUNT} of them already. Revoke one first.`,
      );
    }
    const grant = emptyGrant(kind, { user_id, scopes, now });
    const token = makeToken(kind, grant.id);
    const made = {
      ...grant,
      name: called,
      access_hash: hashSecret(token.secret),
      access_created_ms: now,
      access_expires_ms: expires_ms,
      expires_ms: expires_ms === 0 ? 0 : expires_ms + ENDED_ROW_TTL_MS,
    };
    await lease.ensure();
    await accounts.grants.add(made);
    return { grant: { ...made, version: 1 }, text: token.text };
  });
}

/** Keys or tokens that a user made and that still work, the newest first. */
export function liveKeys(accounts: Accounts, user_id: string, kind: 'key' | 'personal'): Promise<Grant[]> {
  return accounts.grants.find(
    sql`user_id = ${user_id} AND kind = ${kind} AND revoked_ms = 0
      AND (access_expires_ms = 0 OR access_expires_ms > ${accounts.clock.now()})`,
    'created_ms DESC, id',
  );
}
