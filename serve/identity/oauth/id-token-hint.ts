import type { Accounts } from '../../accounts/accounts.ts';
import type { Application } from '../../accounts/tables.ts';
import type { Form } from '../../http/form.ts';
import { SigningKeys } from '../openid/signing-keys.ts';
import { optional } from './parameters.ts';

export const INVALID_HINT = Symbol('invalid id_token_hint');

/**
 * The user id in `id_token_hint` (OpenID Connect Core §3.1.2.1); null without a hint. A hint is invalid if it is not an ID
 * token of the application, or if a key that is no longer published signed it.
 */
export async function readHint(
  accounts: Accounts,
  issuer: () => string,
  form: Form,
  application: Application,
): Promise<string | null | typeof INVALID_HINT> {
  const hint = optional(form, 'id_token_hint');
  if (hint === '') return null;
  const claims = await new SigningKeys(accounts).verify(hint, issuer());
  return [claims?.aud].flat().includes(application.id) ? (claims?.sub ?? INVALID_HINT) : INVALID_HINT;
}
