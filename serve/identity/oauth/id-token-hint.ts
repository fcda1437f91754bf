import type { Accounts } from '../../accounts/accounts.ts';
import type { Application } from '../../accounts/tables.ts';
import type { Form } from '../../http/form.ts';
import { SigningKeys } from '../openid/signing-keys.ts';
import { optional } from './parameters.ts';

/**
 * The id of the user whom `id_token_hint` names (OpenID Connect Core §3.1.2.1); null without a hint, and '' for one that
 * is no ID token of the application, or that an old key signed.
 */
export async function readHint(
  accounts: Accounts,
  issuer: () => string,
  form: Form,
  application: Application,
): Promise<string | null> {
  const hint = optional(form, 'id_token_hint');
  if (hint === '') return null;
  const claims = await new SigningKeys(accounts).verify(hint, issuer());
  return [claims?.aud].flat().includes(application.id) ? (claims?.sub ?? '') : '';
}
