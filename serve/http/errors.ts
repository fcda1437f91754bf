import { finished } from 'node:stream/promises';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, ProductError } from '../../infra/errors.ts';
import { ignore } from '../../infra/ignore.ts';
import { InvalidRequest, type ValidationIssue } from './validation.ts';

/** HTTP status by error code. */
const STATUS_OF = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  invalid_parameters: 422,
  too_many_requests: 429,
  internal: 500,
  unavailable: 503,

  // Alert intake
  invalid_json: 400,
  invalid_payload: 422,
  overloaded: 503,

  // OAuth 2.0: RFC 6749 §5.2 and §4.1.2.1, RFC 6750 §3.1, RFC 7009 §2.2.1, RFC 8707 §2, OpenID Connect Core §3.1.2.6
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  invalid_target: 400,
  access_denied: 400,
  login_required: 400,
  consent_required: 400,
  unsupported_response_type: 400,
  unsupported_response_mode: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  registration_not_supported: 400,
  server_error: 500,
  temporarily_unavailable: 503,
  invalid_token: 401,
  insufficient_scope: 403,

  // Product errors whose text a dialect may show, see `explains`
  input_missing: 400,
  input_unreadable: 400,
  unknown_metric: 404,
  unknown_chain: 404,
  usage: 400,
  service_unreachable: 503,
} as const;

export type HttpErrorCode = keyof typeof STATUS_OF;

/** An error for the caller: its message is public, its code decides the status. */
export class HttpError extends Error {
  readonly code: HttpErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Messages by field, if fields are invalid. */
  readonly errors: Readonly<Record<string, readonly string[]>> | undefined;
  constructor(
    code: HttpErrorCode,
    publicText: string,
    headers: Readonly<Record<string, string>> = {},
    status: number = STATUS_OF[code],
    errors?: HttpError['errors'],
  ) {
    super(publicText);
    this.code = code;
    this.status = status;
    this.headers = headers;
    this.errors = errors;
  }
}

/** Types of parameter issues. */
export const ISSUE_TYPES = ['missing', 'extra_forbidden', 'enum', 'date', 'int', 'value_error'] as const;

/** One invalid parameter of a request to the metrics API. */
export interface ParameterIssue {
  readonly type: (typeof ISSUE_TYPES)[number];
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
}

/** All invalid parameters of a request. */
export class ParameterError extends HttpError {
  readonly detail: readonly ParameterIssue[];
  constructor(detail: readonly ParameterIssue[]) {
    super('invalid_parameters', 'Some request parameters are invalid.');
    this.detail = detail;
  }
}

/** The error for a value that is valid by its schema but not in its context. */
export const invalidParameter = (name: string, msg: string, input: unknown): ParameterError =>
  new ParameterError([{ type: 'value_error', loc: ['query', name], msg, input }]);

/** The error format of an API. Status and headers are set before `send` is called. */
export interface Dialect {
  /** Product errors whose text callers may read; all others get `failure`. */
  readonly explains: readonly (ErrorCode & HttpErrorCode)[];
  /** The public error in place of one with a private text. */
  readonly failure: HttpError;
  /** Converts errors of other classes to public ones. */
  translate?(error: FastifyError | Error): HttpError | undefined;
  /** The error for a request that fails validation. */
  invalid?(issues: readonly ValidationIssue[], request: FastifyRequest): HttpError;
  send(error: HttpError, request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply>;
  /** The error for a path without a route. */
  unknownPath?(request: FastifyRequest): HttpError;
}

/** Turns every error of a scope into an answer. Errors whose text is private are logged. */
export function handleErrors(app: FastifyInstance, dialect: Dialect): void {
  const { failure, unknownPath } = dialect;
  const answer = (error: HttpError, request: FastifyRequest, reply: FastifyReply) =>
    // An error may depend on the caller and may be short-lived; without this, caches keep a 404 for minutes.
    dialect.send(
      error,
      request,
      reply.code(error.status).headers({ 'cache-control': 'no-store', ...error.headers }),
    );
  app.setErrorHandler(async (error: FastifyError | Error, request, reply) => {
    const known = publicError(error, request, dialect);
    if (known === undefined) request.log.error({ err: error }, 'request failed');
    // Closing a connection with an unread body resets it, and the client often loses the response. On a keep-alive
    // connection Node reads and drops the rest after the response; if the client wants it closed, do so before.
    if (known?.status === 413) {
      reply.removeHeader('connection');
      if (!reply.raw.shouldKeepAlive) await finished(request.raw.resume()).catch(ignore('http.unread_body'));
    }
    return answer(known ?? failure, request, reply);
  });
  if (unknownPath) {
    app.setNotFoundHandler((request, reply) => answer(unknownPath(request), request, reply));
  }
}

/** Store failures that are temporary or that the operator can fix: every API answers 503 with Retry-After. */
const TEMPORARY: ReadonlySet<ErrorCode> = new Set([
  'store_busy',
  'store_memory',
  'store_timeout',
  'store_unwritable',
]);

function publicError(
  error: FastifyError | Error,
  request: FastifyRequest,
  dialect: Dialect,
): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (dialect.invalid && error instanceof InvalidRequest) return dialect.invalid(error.issues, request);
  if (error instanceof ProductError && TEMPORARY.has(error.code)) {
    return unavailable(error);
  }
  const translated = dialect.translate?.(error);
  if (translated) return translated;
  if (error instanceof ProductError) {
    const code = dialect.explains.find((explained) => explained === error.code);
    if (code) return new HttpError(code, error.message, STATUS_OF[code] === 503 ? RETRY_SOON : {});
    return error.code === 'service_unreachable' ? unavailable(error) : undefined;
  }
  return fastifyError(error);
}

const unavailable = ({ message }: ProductError) =>
  new HttpError('unavailable', `The service is not available: ${message}.`, RETRY_SOON);

/** Errors of Fastify for bad requests and of @fastify/under-pressure carry a status. */
function fastifyError({
  statusCode,
  message,
}: Error & { readonly statusCode?: number }): HttpError | undefined {
  if (statusCode === undefined || (statusCode >= 500 && statusCode !== 503)) return undefined;
  return new HttpError(statusCode === 503 ? 'unavailable' : 'bad_request', message, {}, statusCode);
}

/** Header of errors after which the caller should retry. */
export const RETRY_SOON = { 'retry-after': '5' };
