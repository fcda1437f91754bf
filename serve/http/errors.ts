import { finished } from 'node:stream/promises';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, ProductError } from '../../infra/errors.ts';
import { ignore } from '../../infra/ignore.ts';
import { InvalidRequest, type ValidationIssue } from './validation.ts';

/** The one table from the code of an error to the status of its answer. */
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

  // Errors of the product that a dialect may explain to its callers
  input_missing: 400,
  input_unreadable: 400,
  unknown_metric: 404,
  unknown_chain: 404,
  usage: 400,
  service_unreachable: 503,
} as const;

export type HttpErrorCode = keyof typeof STATUS_OF;

/** An error that the caller gets to see: its text is public, its code decides on the status. */
export class HttpError extends Error {
  readonly code: HttpErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What is wrong, by field, where fields are at fault. */
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

/** The kinds of what can be wrong with a parameter. */
export const ISSUE_TYPES = ['missing', 'extra_forbidden', 'enum', 'date', 'int', 'value_error'] as const;

/** One thing that is wrong with the parameters of a request to the metrics API. */
export interface ParameterIssue {
  readonly type: (typeof ISSUE_TYPES)[number];
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
}

/** Everything that is wrong with the parameters of a request. */
export class ParameterError extends HttpError {
  readonly detail: readonly ParameterIssue[];
  constructor(detail: readonly ParameterIssue[]) {
    super('invalid_parameters', 'request parameters fail validation');
    this.detail = detail;
  }
}

/** The error of a value that its schema lets pass, and that cannot be answered. */
export const wrongParameter = (name: string, msg: string, input: unknown): ParameterError =>
  new ParameterError([{ type: 'value_error', loc: ['query', name], msg, input }]);

/** How one of the APIs writes its errors. Status and headers of the error are set before `send` is called. */
export interface Dialect {
  /** Errors of the product whose text its callers may read; all others are answered with `failure`. */
  readonly explains: readonly (ErrorCode & HttpErrorCode)[];
  /** The answer to an error whose text is private. */
  readonly failure: HttpError;
  /** Public errors of other classes. */
  translate?(error: FastifyError | Error): HttpError | undefined;
  /** Everything that is wrong with the parameters of a request. */
  invalid?(issues: readonly ValidationIssue[], request: FastifyRequest): HttpError;
  send(error: HttpError, request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply>;
  /** The answer where no route is. */
  unknownPath?(request: FastifyRequest): HttpError;
}

/** Turns every error of a scope into an answer. Errors whose text is private are logged. */
export function handleErrors(app: FastifyInstance, dialect: Dialect): void {
  const { failure, unknownPath } = dialect;
  const answer = (error: HttpError, request: FastifyRequest, reply: FastifyReply) =>
    // An error may depend on its caller, and end soon: caches would keep a 404 for minutes.
    dialect.send(
      error,
      request,
      reply.code(error.status).headers({ 'cache-control': 'no-store', ...error.headers }),
    );
  app.setErrorHandler(async (error: FastifyError | Error, request, reply) => {
    const known = publicError(error, request, dialect);
    if (known === undefined) request.log.error({ err: error }, 'request failed');
    // A connection that closes with the body unread is reset, and its answer often lost. Node reads the rest and drops it,
    // for as long as a request may take: before the answer where the caller wants the connection closed, else behind it.
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

/** Failures of the store that end by themselves or when the operator acts: every API says 503, and when to try again. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
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
  if (error instanceof ProductError && PASSING.has(error.code)) {
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

/** Errors that Fastify itself raises for bad requests carry their status, and so does a server under pressure. */
function fastifyError({
  statusCode,
  message,
}: Error & { readonly statusCode?: number }): HttpError | undefined {
  if (statusCode === undefined || (statusCode >= 500 && statusCode !== 503)) return undefined;
  return new HttpError(statusCode === 503 ? 'unavailable' : 'bad_request', message, {}, statusCode);
}

/** For answers to requests that the caller should send again. */
export const RETRY_SOON = { 'retry-after': '5' };
