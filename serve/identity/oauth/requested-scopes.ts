import { isScope, type Scope } from '../../accounts/scopes.ts';
import { OAuthError } from './errors.ts';
import { printable } from './parameters.ts';

/** So many refused scopes are named; an error description has to stay short. */
const NAMED_MAX = 5;

/** Ignored, because every code grant returns a refresh token without it (OpenID Connect Core §11). */
const IGNORED = 'offline_access';

/**
 * Parses a space-separated list of scopes and removes duplicates. Throws `invalid_scope` with the names of those that do
 * not exist or are not `allowed`; `limit` says who did not allow them.
 */
export function readScopes(list: string, allowed: readonly string[], limit: string): Scope[] {
  const names = [...new Set(list.split(' ').filter((name) => name !== '' && name !== IGNORED))];
  const refused = names.filter((name) => !isScope(name) || !allowed.includes(name));
  if (refused.length === 0) return names.filter(isScope);
  const named = refused.slice(0, NAMED_MAX).map(printable).join(', ');
  const more = refused.length > NAMED_MAX ? ` and ${refused.length - NAMED_MAX} more` : '';
  const subject = refused.length === 1 ? `The scope ${named} is` : `The scopes ${named}${more} are`;
  throw new OAuthError('invalid_scope', `${subject} unknown or beyond what ${limit}.`);
}
