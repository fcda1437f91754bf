import type { FastifyReply } from 'fastify';
import { NO_STORE_HEADERS } from '../../http/dialects.ts';
import { HttpError, type HttpErrorCode } from '../../http/errors.ts';

/** Codes of RFC 6749 §5.2 and §4.1.2.1, RFC 7009 §2.2.1, RFC 8707 §2 and OpenID Connect Core §3.1.2.6 that this server uses. */
type OAuthCode = Extract<
  HttpErrorCode,
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'login_required'
  | 'consent_required'
  | 'unsupported_response_type'
  | 'unsupported_response_mode'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'
  | 'server_error'
  | 'temporarily_unavailable'
>;

/** An error that the authorization server reports to an application. */
export class OAuthError extends HttpError {
  declare readonly code: OAuthCode;
  constructor(
    code: OAuthCode,
    description: string,
    { status, headers }: { status?: number; headers?: Record<string, string> } = {},
  ) {
    super(code, description, headers, status);
  }
}

export const missingParameter = (parameter: string) =>
  new OAuthError('invalid_request', `Missing required parameter: ${parameter}.`);

/** Sets the headers of an answer that no cache may store. */
export const neverStored = (reply: FastifyReply): FastifyReply => reply.headers(NO_STORE_HEADERS);
