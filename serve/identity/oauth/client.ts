import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { activeApplication } from '../../accounts/grants.ts';
import { isSecretOf } from '../../accounts/secrets.ts';
import type { Application } from '../../accounts/tables.ts';
import type { Form } from '../../http/form.ts';
import { readBasic } from './basic.ts';
import { OAuthError } from './errors.ts';
import { optional } from './parameters.ts';

interface Credentials {
  readonly id: string;
  /** '' if none was sent. */
  readonly secret: string;
}

/**
 * Authenticates the client (RFC 6749 §2.3): by HTTP Basic, by the body, or by its id alone if it is public. Throws
 * `invalid_client` otherwise. A failure consumes nothing: some clients try one method after the other.
 */
export async function authenticateClient(
  accounts: Accounts,
  request: FastifyRequest,
  form: Form,
): Promise<Application> {
  const application = await optionalClient(accounts, request, form);
  if (application === null) {
    throw refusedClient(request, 'Client authentication failed: no client_id was sent.');
  }
  return application;
}

/** Like `authenticateClient`, but null if the request names no client. */
export async function optionalClient(
  accounts: Accounts,
  request: FastifyRequest,
  form: Form,
): Promise<Application | null> {
  const { authorization } = request.headers;
  const id = optional(form, 'client_id');
  const secret = optional(form, 'client_secret');
  if (authorization === undefined) {
    if (id === '' && secret === '') return null;
    return authenticate(accounts, request, [{ id, secret }]);
  }
  if (secret !== '') {
    throw new OAuthError(
      'invalid_request',
      'Send the secret of the client in the header or in the body, not in both.',
    );
  }
  const tries = credentialsOf(authorization);
  if (tries.length === 0) {
    throw refusedClient(request, 'The Authorization header contains no HTTP Basic credentials.');
  }
  if (id !== '' && !tries.some((credentials) => credentials.id === id)) {
    throw new OAuthError('invalid_request', 'The client_id in the body differs from that in the header.');
  }
  return authenticate(accounts, request, tries);
}

/** The refusal of a client, with a challenge if it used the header (RFC 6749 §5.2). */
export function refusedClient({ headers }: FastifyRequest, description: string): OAuthError {
  const challenge = { 'www-authenticate': 'Basic realm="Chain Metrics", charset="UTF-8"' };
  return new OAuthError('invalid_client', description, {
    headers: headers.authorization === undefined ? {} : challenge,
  });
}

/**
 * The credentials of HTTP Basic in both encodings that clients use: RFC 6749 §2.3.1 requires both parts to be
 * form-encoded, but many libraries send them as they are.
 */
function credentialsOf(header: string): Credentials[] {
  const basic = readBasic(header);
  if (basic === null) return [];
  const raw = { id: basic.user, secret: basic.password };
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '));
    return [raw, { id: decode(raw.id), secret: decode(raw.secret) }];
  } catch {
    // Malformed encoding: the client sent the credentials unencoded.
    return [raw];
  }
}

async function authenticate(
  accounts: Accounts,
  request: FastifyRequest,
  tries: readonly Credentials[],
): Promise<Application> {
  for (const { id, secret } of tries) {
    const application = await activeApplication(accounts, id);
    if (!application) continue;
    const isProven = application.is_confidential
      ? isSecretOf(application.secret_hash, secret)
      : secret === '';
    if (isProven) return application;
  }
  // The same message for an unknown client, a missing and a wrong secret.
  throw refusedClient(request, 'Client authentication failed: unknown client, or wrong or missing secret.');
}
