import { metrics } from '../../aggregate/metrics/index.ts';
import { ProductError } from '../../infra/errors.ts';
import { didYouMean } from '../../infra/nearest-name.ts';
import { corsHeaders } from './cross-origin.ts';
import { type Dialect, HttpError, type HttpErrorCode, ParameterError, RETRY_SOON } from './errors.ts';
import { queryIssues } from './parameter-issues.ts';

const TITLES: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

const PATHS = metrics.flatMap(({ endpoints }) => endpoints.map(({ path }) => path));

/** Metrics API and operator endpoints: problem details (RFC 9457); a list of issues for invalid parameters. */
export const problemDialect: Dialect = {
  explains: ['input_missing', 'input_unreadable', 'unknown_metric', 'unknown_chain', 'usage'],
  failure: new HttpError('internal', 'The server failed. Its log has the reason.'),
  invalid: (issues, request) => new ParameterError(queryIssues(issues, request)),
  send: (error, request, reply) => {
    reply.headers(corsHeaders(request.url));
    if (error instanceof ParameterError) return reply.send({ detail: error.detail });
    const { status, message: detail } = error;
    return reply
      .type('application/problem+json')
      .send({ type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail });
  },
  unknownPath: ({ method, url }) => {
    const [path = ''] = url.split('?');
    const near = didYouMean(path, PATHS);
    return new HttpError(
      'not_found',
      `Nothing is served at ${method} ${path}${near ? `: ${near} See` : '; see'} /docs.`,
    );
  },
};

/** OAuth responses contain secrets, so no cache may store them (RFC 6749 §5.1). */
export const NO_STORE_HEADERS = {
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
};

/** OAuth error codes by internal code; the default is `invalid_request`. */
const OAUTH_CODES: Partial<Record<HttpErrorCode, HttpErrorCode>> = {
  ...Object.fromEntries(
    (
      [
        'invalid_client',
        'invalid_grant',
        'unauthorized_client',
        'unsupported_grant_type',
        'invalid_scope',
        'invalid_target',
        'access_denied',
        'unsupported_response_type',
        'unsupported_response_mode',
        'server_error',
        'temporarily_unavailable',
        'invalid_token',
        'insufficient_scope',
      ] as const
    ).map((code) => [code, code]),
  ),
  too_many_requests: 'temporarily_unavailable',
  unauthorized: 'invalid_token',
  unavailable: 'temporarily_unavailable',
};

/** OAuth 2.0: RFC 6749 §5.2. */
export const oauthDialect: Dialect = {
  explains: [],
  // RFC 6749 §5.2 allows ASCII only.
  failure: new HttpError('server_error', 'The server failed. Its log has the reason.'),
  translate: (error) => {
    const { statusCode = 500 } = error as { statusCode?: number };
    if (statusCode === 503)
      return new HttpError('temporarily_unavailable', 'The server is busy.', RETRY_SOON);
    return statusCode < 500 ? new HttpError('invalid_request', error.message) : undefined;
  },
  send: ({ code, message }, _request, reply) =>
    reply
      .headers(NO_STORE_HEADERS)
      .type('application/json; charset=utf-8')
      .send({ error: OAUTH_CODES[code] ?? 'invalid_request', error_description: message }),
};

/** GitLab-style API: a `message`, and `errors` by field. Bearer token errors follow RFC 6750. */
export const gitlabDialect: Dialect = {
  explains: ['service_unreachable'],
  failure: new HttpError('internal', 'Internal Server Error'),
  invalid: (issues) => {
    const errors: Record<string, string[]> = {};
    for (const { path, message } of issues) {
      const name = path.join('.') || 'body';
      errors[name] = [...(errors[name] ?? []), message];
    }
    const texts = Object.entries(errors).map(([name, messages]) => `${name} ${messages.join(', ')}`);
    return new HttpError('bad_request', `Bad request: ${texts.join('; ')}`, {}, undefined, errors);
  },
  send: (error, _request, reply) => {
    const { code, status, message } = error;
    if (code === 'unauthorized') return reply.send({ message: '401 Unauthorized' });
    if (BEARER_CODES.has(code))
      return reply.headers(NO_STORE_HEADERS).send({ error: code, error_description: message });
    return reply.send({ message: `${status} ${message}`, ...(error.errors && { errors: error.errors }) });
  },
};

const BEARER_CODES: ReadonlySet<HttpErrorCode> = new Set([
  'invalid_token',
  'insufficient_scope',
  'invalid_request',
]);

/** Alert intake: a code and a message. */
export const intakeDialect: Dialect = {
  explains: [],
  // The text claims no loss: if the log answers late, it may have stored the event.
  failure: new HttpError('unavailable', 'The event may not have been stored. Retry the request.', RETRY_SOON),
  translate: (error) => (isShed(error) ? intakeDialect.failure : undefined),
  send: ({ code, message }, _request, reply) => reply.send({ error: code, message }),
};

/** Load shedding, or the message log is unreachable. Not logged per request: the log client already reports its outage. */
const isShed = (error: Error & { readonly statusCode?: number }) =>
  error.statusCode === 503 || (error instanceof ProductError && error.code === 'service_unreachable');

/** Alertmanager API: the error is a JSON string. Its clients know no 409, 415 or 422. */
export const alertmanagerDialect: Dialect = {
  explains: [],
  failure: new HttpError('internal', 'The request failed. The server log has the reason.'),
  invalid: (issues) =>
    new HttpError(
      'bad_request',
      issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`).join('; '),
    ),
  send: ({ status, message, headers }, _request, reply) => {
    const { 'www-authenticate': bearer } = headers;
    // Alertmanager clients may send the token as the password of HTTP Basic.
    if (status === 401 && bearer) reply.header('www-authenticate', `Basic realm="Chain Metrics", ${bearer}`);
    if (status === 409 || status === 415 || status === 422) reply.code(400);
    return reply.type('application/json').send(JSON.stringify(message));
  },
};

/** The dialect of the API that a path belongs to, even if no route matches. */
export function dialectOf(path: string): Dialect {
  if (path.startsWith('/api/v4/')) return gitlabDialect;
  if (path.startsWith('/alerts/')) return intakeDialect;
  if (path.startsWith('/alertmanager/')) return alertmanagerDialect;
  return path.startsWith('/oauth/') ? oauthDialect : problemDialect;
}
