import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { isTokenOf } from '../../accounts/grants.ts';
import { authenticatedAccount } from '../../accounts/principal.ts';
import { readToken } from '../../accounts/tokens.ts';
import { formOf } from '../../pages/forms.ts';

/** The parameters that carry a token or a code. */
const CREDENTIALS = ['refresh_token', 'code', 'token', 'access_token'];

/** The account of a request, by a token or code in its form, its bearer token or its session; null if it has none. */
export async function accountOfCredentials(
  accounts: Accounts,
  request: FastifyRequest,
): Promise<string | null> {
  const form = formOf(request);
  const text = CREDENTIALS.map((name) => form.text(name)).find((value) => value !== '');
  if (text === undefined) return authenticatedAccount(accounts, request, 'any');
  const token = readToken(text);
  // Check first whether the grant exists: concurrent checks share one query of ids, so invented tokens are cheap.
  if (token === null || !(await accounts.grants.has(token.id))) return null;
  const grant = await accounts.grants.get(token.id);
  return grant !== null && grant.revoked_ms === 0 && isTokenOf(grant, token) ? grant.user_id : null;
}
