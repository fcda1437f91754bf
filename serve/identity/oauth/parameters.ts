import type { FastifyInstance, FastifyRequest } from 'fastify';
import { acceptForms, EMPTY_FORM, Form, parseForm } from '../../http/form.ts';
import { missingParameter, OAuthError } from './errors.ts';

/** Parameters that must be in the body: a query is stored in logs and browser histories (RFC 9700 §4.2). */
const BODY_ONLY = [
  'client_secret',
  'code',
  'code_verifier',
  'refresh_token',
  'token',
  'username',
  'password',
];

/** Far more than any request needs. */
const BODY_BYTES_MAX = 64 * 1024;
const VALUE_CHARACTERS_MAX = 8 * 1024;

/** Makes the scope accept form-encoded bodies and refuse all others with `invalid_request`. */
export async function acceptParameters(app: FastifyInstance): Promise<void> {
  await acceptForms(app, { bodyLimit: BODY_BYTES_MAX });
  app.addContentTypeParser('*', ({ headers }, payload, done) => {
    payload.resume();
    const [type = ''] = (headers['content-type'] ?? '').split(';');
    done(
      new OAuthError(
        'invalid_request',
        `The body is ${printable(type) || 'of no type'}. Send the parameters as application/x-www-form-urlencoded.`,
      ),
    );
  });
}

/** The parameters of the body (RFC 6749 §3.2). */
export function bodyParameters(request: FastifyRequest): Form {
  const query = queryParameters(request);
  const inQuery = BODY_ONLY.find((name) => query.has(name));
  if (inQuery) {
    throw new OAuthError('invalid_request', `Send the parameter ${inQuery} in the body, not in the URL.`);
  }
  const form = request.body instanceof Form ? request.body : EMPTY_FORM;
  return requireUnique(form);
}

/** The parameters of the URL. */
export function queryParameters(request: FastifyRequest): Form {
  const [, query = ''] = /\?([^#]*)/.exec(request.url) ?? [];
  return parseForm(query);
}

/** Parameters that may name several targets of one token (RFC 8707 §2, RFC 8693 §2.1). */
const REPEATABLE: ReadonlySet<string> = new Set(['resource', 'audience']);

/** Throws if a parameter that must be unique was sent more than once. */
export function requireUnique(form: Form): Form {
  const repeated = form.repeated().find((name) => !REPEATABLE.has(name));
  if (repeated !== undefined) {
    throw new OAuthError('invalid_request', `The parameter ${printable(repeated)} was sent more than once.`);
  }
  return form;
}

/** A required parameter; an empty one counts as absent (RFC 6749 §3.2). */
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

/** RFC 6749 §5.2 restricts the characters of an error description. */
export const printable = (name: string) => name.replace(/[^A-Za-z0-9_.:/-]/g, '?').slice(0, 60);
