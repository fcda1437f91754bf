import { isScope, type Scope } from '../../accounts/scopes.ts';
import { OAuthError } from './errors.ts';
import { printable } from './parameters.ts';

/** Refused scopes in an error description, which must be short. */
const NAMED_MAX = 5;

/** Ignored, because every code grant returns a refresh token without it (OpenID Connect Core §11). */
const IGNORED = 'offline_access';

/**
 * Parses a space-separated list of scopes and removes duplicates. Throws `invalid_scope` with the names of scopes that are
 * not `allowed`; `source` describes the allowed scopes in that error.
 */
export function readScopes(list: string, allowed: readonly string[], source: string): Scope[] {
  const names = [...new Set(list.split(' ').filter((name) => name !== '' && name !== IGNORED))];
  const refused = names.filter((name) => !isScope(name) || !allowed.includes(name));
  if (refused.length === 0) return names.filter(isScope);
  const named = refused.slice(0, NAMED_MAX).map(printable).join(', ');
  const more = refused.length > NAMED_MAX ? ` and ${refused.length - NAMED_MAX} more` : '';
  const subject = refused.length === 1 ? `The scope ${named} is` : `The scopes ${named}${more} are`;
  throw new OAuthError('invalid_scope', `${subject} not among ${source}.`);
}

/** The error for a parameter that contains no scope, such as a single space. */
export const emptyScope = () =>
  new OAuthError('invalid_scope', 'The scope is empty. Name at least one scope, or omit the parameter.');
