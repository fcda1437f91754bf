import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import { TokenError } from '../accounts/principal.ts';

/** Codes of RFC 6749 §5.2 and §4.1.2.1, RFC 6750 §3.1 and RFC 7009 §2.2.1 that this server uses. */
export type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'access_denied'
  | 'unsupported_response_type'
  | 'unsupported_response_mode'
  | 'server_error'
  | 'temporarily_unavailable';

const STATUS: Partial<Record<OAuthCode, number>> = {
  invalid_client: 401,
  server_error: 500,
  temporarily_unavailable: 503,
};

/** An answer of an OAuth endpoint that is an error: 400 unless its code says otherwise. */
export class OAuthError extends Error {
  readonly code: OAuthCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    code: OAuthCode,
    description: string,
    {
      status = STATUS[code] ?? 400,
      headers = {},
    }: { status?: number; headers?: Record<string, string> } = {},
  ) {
    super(description);
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

export const missingParameter = (parameter: string) =>
  new OAuthError('invalid_request', `Missing required parameter: ${parameter}.`);

/** Answers of these endpoints hold secrets or speak of them: nobody may keep them (RFC 6749 §5.1). */
export function neverStored(reply: FastifyReply): FastifyReply {
  return reply.headers({
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'x-content-type-options': 'nosniff',
  });
}

/** Makes every error of the scope `{error, error_description}`. */
export function answerOAuthErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | Error, request, reply) => {
    const { code, status, headers, description } = asOAuth(error);
    if (status >= 500) request.log.error({ err: error }, 'an OAuth request failed');
    return neverStored(reply)
      .code(status)
      .headers(headers)
      .type('application/json; charset=utf-8')
      .send({ error: code, error_description: description });
  });
}

interface Told {
  readonly code: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly description: string;
}

function asOAuth(error: FastifyError | Error): Told {
  const description = error.message;
  if (error instanceof OAuthError) return { ...known(error), code: error.code, description };
  if (error instanceof TokenError)
    return { ...known(error), code: error.code ?? 'invalid_token', description };
  if (error instanceof HttpError) {
    const code = error.status === 429 ? 'temporarily_unavailable' : 'invalid_request';
    return { ...known(error), code, description };
  }
  const { statusCode = 500 } = error as FastifyError;
  if (statusCode === 503) {
    return {
      code: 'temporarily_unavailable',
      status: 503,
      headers: { 'retry-after': '5' },
      description: 'The server is busy.',
    };
  }
  if (statusCode < 500) return { code: 'invalid_request', status: 400, headers: {}, description };
  return {
    code: 'server_error',
    status: 500,
    headers: {},
    description: 'The server failed; nothing was changed.',
  };
}

const known = ({ status, headers }: OAuthError | HttpError) => ({ status, headers });
