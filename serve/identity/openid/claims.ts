import type { User } from '../../accounts/tables.ts';

/** The claims about a user that the scopes allow, for ID tokens and `/oauth/userinfo`. Empty claims are left out. */
export function claimsOf(user: User, scopes: readonly string[], issuer: string): Record<string, unknown> {
  const claims = {
    sub: user.id,
    name: user.name,
    nickname: user.username,
    preferred_username: user.username,
    ...(scopes.includes('email') && user.email !== ''
      ? { email: user.email, email_verified: user.email_confirmed_ms > 0 }
      : {}),
    profile: `${issuer}/profile`,
  };
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== ''));
}
