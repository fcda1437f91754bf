import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { isTokenOf } from '../../accounts/grants.ts';
import { provenAccount } from '../../accounts/principal.ts';
import { readToken } from '../../accounts/tokens.ts';
import { formOf } from '../../pages/forms.ts';

/** The parameters that carry a token or a code. */
const CREDENTIALS = ['refresh_token', 'code', 'token', 'access_token'];

/** The account that a request proves to act for, also by a token or a code in its form; null where it proves none. */
export async function provenHolder(accounts: Accounts, request: FastifyRequest): Promise<string | null> {
  const form = formOf(request);
  const text = CREDENTIALS.map((name) => form.text(name)).find((value) => value !== '');
  if (text === undefined) return provenAccount(accounts, request, 'any');
  const token = readToken(text);
  // Many ids are asked for together: invented tokens cost little.
  if (token === null || !(await accounts.grants.has(token.id))) return null;
  const grant = await accounts.grants.get(token.id);
  return grant !== null && grant.revoked_ms === 0 && isTokenOf(grant, token) ? grant.user_id : null;
}
