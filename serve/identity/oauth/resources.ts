import type { Accounts } from '../../accounts/accounts.ts';
import { apiResource } from '../../accounts/resource.ts';
import type { Form } from '../../http/form.ts';
import { OAuthError } from './errors.ts';
import { printable } from './parameters.ts';

/**
 * The resources that a request names for its tokens (RFC 8707 §2), in the spelling of the server; none when it names
 * none. Throws `invalid_target` for a resource that tokens of this server are not for.
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
      `The resource ${printable(uri)} is unknown. That of this API is ${apiResource(issuer())}; the operator adds others to OAUTH_RESOURCES.`,
    );
  });
  return [...new Set(found)];
}

/**
 * The audience of an access token: the resources that the token request names of those that the user authorized, or all of
 * these (RFC 8707 §2.2). An authorization without resources is one for the API of this server.
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
  // With no audience left it would become a token for the API of this server.
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

/** A repeated request gets the token that is in use, which may be for more resources than it wants. */
export function requireAudienceWithin(held: readonly string[], wanted: readonly string[]): void {
  if (wanted.length === 0) return;
  if (held.length > 0 && held.every((resource) => wanted.includes(resource))) return;
  throw new OAuthError(
    'invalid_target',
    'The refresh token was exchanged for other resources. Use the new refresh token to get a token for these.',
  );
}

const allowedResources = ({ settings }: Accounts, issuer: () => string): readonly string[] => [
  apiResource(issuer()),
  ...settings.OAUTH_RESOURCES,
];

/** Clients write a URI as their library does, for example with a slash after a bare host (RFC 3986 §6.2.3). */
const isSameUri = (one: string, other: string): boolean =>
  URL.canParse(other) && !other.includes('#') && new URL(one).href === new URL(other).href;
