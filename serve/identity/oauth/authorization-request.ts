import type { Scope } from '../../accounts/scopes.ts';
import type { Application } from '../../accounts/tables.ts';

/** Where the response goes. It is validated first: before that, no redirect is allowed (RFC 6749 §4.1.2.1). */
export interface RedirectTarget {
  readonly application: Application;
  readonly redirectUri: string;
  readonly state: string;
}

/** A valid request that needs the user's consent. */
export interface AuthorizationRequest extends RedirectTarget {
  readonly scopes: readonly Scope[];
  readonly challenge: string;
}
