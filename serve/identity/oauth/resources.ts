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
    const resource = allowed.find((known) => known === uri || isSameUri(known, uri));
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
  // Refuse here: an empty audience would make the token valid for the API of this server.
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

/** Refuses a retry of a refresh if the tokens that it would get again are for resources that it does not name. */
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
const isSameUri = (a: string, b: string): boolean =>
  URL.canParse(b) && !b.includes('#') && new URL(a).href === new URL(b).href;
