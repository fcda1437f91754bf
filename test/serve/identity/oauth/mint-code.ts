import type { Accounts } from '../../../../serve/accounts/accounts.ts';
import { emptyGrant } from '../../../../serve/accounts/grants.ts';
import { hashSecret } from '../../../../serve/accounts/secrets.ts';
import type { Application, User } from '../../../../serve/accounts/tables.ts';
import { makeToken } from '../../../../serve/accounts/tokens.ts';

/** Creates a code without the authorization page, for tests that need many. */
export async function mintCode(
  accounts: Accounts,
  user: User,
  application: Application,
  lifetimeMs = 600_000,
  scopes: readonly string[] = ['api'],
): Promise<{ code: string; id: string }> {
  const now = accounts.clock.now();
  const of = { user_id: user.id, application_id: application.id, scopes, now };
  const grant = emptyGrant('code', of);
  const { text, secret } = makeToken('code', grant.id);
  await accounts.grants.add({
    ...grant,
    redirect_uri: application.redirect_uris[0] ?? '',
    code_hash: hashSecret(secret),
    code_expires_ms: now + lifetimeMs,
    expires_ms: now + lifetimeMs,
  });
  return { code: text, id: grant.id };
}
