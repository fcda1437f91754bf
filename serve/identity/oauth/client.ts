import type { FastifyRequest } from 'fastify';
import type { Form } from '../../http/form.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { isSecretOf } from '../accounts/secrets.ts';
import type { Application } from '../accounts/tables.ts';
import { OAuthError } from './errors.ts';
import { optional } from './parameters.ts';

interface Credentials {
  readonly id: string;
  /** '' for a client that shows none. */
  readonly secret: string;
}

/**
 * The application that calls, proven (RFC 6749 §2.3): by HTTP Basic, by the body, or by its id alone when it keeps
 * no secret. Throws `invalid_client` for anything else, and consumes nothing: some clients try one way after the
 * other.
 */
export async function authenticateClient(
  accounts: Accounts,
  request: FastifyRequest,
  form: Form,
): Promise<Application> {
  const application = await optionalClient(accounts, request, form);
  if (application === null) {
    throw new OAuthError('invalid_client', 'Client authentication failed: no client_id was sent.');
  }
  return application;
}

/** Like `authenticateClient`, but null when no client is named at all. */
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
    return proven(accounts, [{ id, secret }], {});
  }
  const challenge = { 'www-authenticate': 'Basic realm="Chain Metrics", charset="UTF-8"' };
  if (secret !== '') {
    throw new OAuthError(
      'invalid_request',
      'Send the client’s secret in the header or in the body, not in both.',
    );
  }
  const tries = readBasic(authorization);
  if (tries.length === 0) {
    throw new OAuthError('invalid_client', 'The Authorization header holds no HTTP Basic credentials.', {
      headers: challenge,
    });
  }
  if (id !== '' && !tries.some((one) => one.id === id)) {
    throw new OAuthError('invalid_request', 'The client_id of the body is not that of the header.');
  }
  return proven(accounts, tries, challenge);
}

/**
 * Credentials of HTTP Basic, in the two spellings that clients use: RFC 6749 §2.3.1 has both parts form-encoded
 * first, and half of the libraries do not do it.
 */
function readBasic(header: string): Credentials[] {
  const [, encoded] = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header) ?? [];
  if (encoded === undefined) return [];
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return [];
  const raw = { id: text.slice(0, colon), secret: text.slice(colon + 1) };
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '));
    return [raw, { id: decode(raw.id), secret: decode(raw.secret) }];
  } catch {
    return [raw];
  }
}

async function proven(
  accounts: Accounts,
  tries: readonly Credentials[],
  headers: Record<string, string>,
): Promise<Application> {
  for (const { id, secret } of tries) {
    const application = await liveApplication(accounts, id);
    if (!application) continue;
    const isProven = application.is_confidential
      ? isSecretOf(application.secret_hash, secret)
      : secret === '';
    if (isProven) return application;
  }
  // The same words for an unknown client, a missing and a wrong secret.
  throw new OAuthError(
    'invalid_client',
    'Client authentication failed: unknown client, or wrong or missing secret.',
    {
      headers,
    },
  );
}

export async function liveApplication(accounts: Accounts, id: string): Promise<Application | null> {
  if (!/^[0-9a-f]{64}$/.test(id)) return null;
  const application = await accounts.applications.get(id);
  return application && application.revoked_ms === 0 ? application : null;
}
