import type { Accounts } from '../../accounts/accounts.ts';
import { apiResource } from '../../accounts/resource.ts';
import type { Form } from '../../http/form.ts';
import { OAuthError } from './errors.ts';
import { printable } from './parameters.ts';

/**
 * The resources that a request names for its tokens (RFC 8707 §2), in the spelling of the server. Throws
 * `invalid_target` for an unknown resource.
 */
export function readResources(form: Form, accounts: Accounts, issuer: () => string): string[] {
  const named = form.getAll('resource').filter((uri) => uri !== '');
  if (named.length === 0) return [];
  const allowed = allowedResources(accounts, issuer);
  const found = named.map((uri) => {
    const resource = allowed.find((one) => one === uri || isSameUri(one, uri));
    if (resource !== undefined) return resource;
    throw new OAuthError(
      'invalid_target',
      `The resource ${printable(uri)} is unknown. Send ${apiResource(issuer())} for this API, or ask the operator to add the resource to OAUTH_RESOURCES.`,
    );
  });
  return [...new Set(found)];
}

/**
 * The audience of an access token: the authorized resources that the token request names, or all if it names none
 * (RFC 8707 §2.2). An authorization without resources is for the API of this server.
 */
export function readAudience(
  form: Form,
  accounts: Accounts,
  issuer: () => string,
  authorized: readonly string[],
): readonly string[] {
  const wanted = readResources(form, accounts, issuer);
  const allowed = allowedResources(accounts, issuer);
  const covered =
    authorized.length === 0
      ? [apiResource(issuer())]
      : authorized.filter((resource) => allowed.includes(resource));
  // A token without an audience would be valid for the API of this server.
  if (covered.length === 0) {
    throw new OAuthError(
      'invalid_target',
      'The server no longer issues tokens for the resources that the user authorized. Request authorization again.',
    );
  }
  const beyond = wanted.find((resource) => !covered.includes(resource));
  if (beyond !== undefined) {
    throw new OAuthError(
      'invalid_target',
      `The user did not authorize tokens for the resource ${beyond}. Send it with the authorization request as well.`,
    );
  }
  if (wanted.length > 0) return wanted;
  return authorized.length === 0 ? [] : covered;
}

/** A retried refresh returns the tokens of the first one. They must not be for resources that the retry does not name. */
export function requireAudienceWithin(audience: readonly string[], wanted: readonly string[]): void {
  if (wanted.length === 0) return;
  if (audience.length > 0 && audience.every((resource) => wanted.includes(resource))) return;
  throw new OAuthError(
    'invalid_target',
    'The refresh token was exchanged for other resources. Use the new refresh token to get a token for these.',
  );
}

const allowedResources = ({ settings }: Accounts, issuer: () => string): readonly string[] => [
  apiResource(issuer()),
  ...settings.OAUTH_RESOURCES,
];

/** Libraries normalize URIs, for example by a slash after a bare host (RFC 3986 §6.2.3). */
const isSameUri = (one: string, other: string): boolean =>
  URL.canParse(other) && !other.includes('#') && new URL(one).href === new URL(other).href;
