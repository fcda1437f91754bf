import type { FastifyInstance, FastifyRequest } from 'fastify';
import { acceptForms, EMPTY_FORM, Form, parseForm } from '../../http/form.ts';
import { missingParameter, OAuthError } from './errors.ts';

/** Parameters that belong into the body: in a query they would be kept by logs and histories (RFC 9700 §4.2). */
const BODY_ONLY = [
  'client_secret',
  'code',
  'code_verifier',
  'refresh_token',
  'token',
  'username',
  'password',
];

/** Far more than any of these requests needs. */
export const BODY_BYTES_MAX = 64 * 1024;
const VALUE_CHARACTERS_MAX = 8 * 1024;

/** Makes the scope accept form-encoded bodies and refuse all others with `invalid_request`. */
export async function acceptParameters(app: FastifyInstance): Promise<void> {
  await acceptForms(app, { bodyLimit: BODY_BYTES_MAX });
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(new OAuthError('invalid_request', 'Send the parameters as application/x-www-form-urlencoded.'));
  });
}

/** Parameters of a request to an endpoint that takes them in its body; each at most once (RFC 6749 §3.2). */
export function bodyParameters(request: FastifyRequest): Form {
  const query = queryParameters(request);
  const misplaced = BODY_ONLY.find((name) => query.has(name));
  if (misplaced) {
    throw new OAuthError(
      'invalid_request',
      `The parameter ${misplaced} belongs into the body, not into the address.`,
    );
  }
  const form = request.body instanceof Form ? request.body : EMPTY_FORM;
  return once(form);
}

/** Parameters of the address, decoded strictly. */
export function queryParameters(request: FastifyRequest): Form {
  const [, query = ''] = /\?([^#]*)/.exec(request.url) ?? [];
  return parseForm(query);
}

/** Throws when a parameter came twice: readers could take different ones. */
export function once(form: Form): Form {
  const [repeated] = form.repeated();
  if (repeated !== undefined) {
    throw new OAuthError('invalid_request', `The parameter ${shown(repeated)} was sent more than once.`);
  }
  return form;
}

/** A parameter that has to be there; an empty one counts as absent (RFC 6749 §3.2). */
export function required(form: Form, name: string): string {
  const value = optional(form, name);
  if (value === '') throw missingParameter(name);
  return value;
}

export function optional(form: Form, name: string): string {
  const value = form.text(name);
  if (value.length > VALUE_CHARACTERS_MAX) {
    throw new OAuthError(
      'invalid_request',
      `The parameter ${name} is longer than ${VALUE_CHARACTERS_MAX} characters.`,
    );
  }
  return value;
}

/** A name as it may be repeated in an error: RFC 6749 §5.2 allows few characters. */
const shown = (name: string) => name.replace(/[^A-Za-z0-9_.-]/g, '?').slice(0, 40);
