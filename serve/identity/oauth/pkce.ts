import { hash } from 'node:crypto';
import { isSameText } from '../../accounts/secrets.ts';
import type { Application } from '../../accounts/tables.ts';
import type { Form } from '../../http/form.ts';
import { missingParameter, OAuthError } from './errors.ts';
import { optional } from './parameters.ts';

/** The challenge of an authorization request (RFC 7636 §4.3); '' if a confidential client sends none. */
export function readChallenge(form: Form, application: Application): string {
  const challenge = optional(form, 'code_challenge');
  const method = optional(form, 'code_challenge_method');
  if (challenge === '') {
    if (method !== '') throw missingParameter('code_challenge');
    if (!application.is_confidential) {
      throw new OAuthError(
        'invalid_request',
        'Missing required parameter: code_challenge. Public applications must use PKCE.',
      );
    }
    return '';
  }
  // RFC 7636 defaults to `plain`, which is not supported: S256 is the safer method.
  if (method !== 'S256') throw new OAuthError('invalid_request', 'The code_challenge_method must be S256.');
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    throw new OAuthError(
      'invalid_request',
      'The code_challenge must be 43 characters of base64url without padding.',
    );
  }
  return challenge;
}

/** Throws `invalid_request` for a malformed verifier (RFC 7636 §4.1). */
export function checkVerifierSyntax(verifier: string): void {
  if (verifier !== '' && !/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) {
    throw new OAuthError(
      'invalid_request',
      'The code_verifier must be 43 to 128 characters of A-Z, a-z, 0-9, hyphen, dot, underscore and tilde.',
    );
  }
}

/**
 * Whether the verifier matches the challenge (RFC 7636 §4.6). Without a stored challenge nothing matches: an attacker
 * may have removed the challenge from the authorization request (RFC 9700 §4.8.2).
 */
export function isProven(challenge: string, verifier: string): boolean {
  return challenge !== '' && isSameText(hash('sha256', verifier, 'base64url'), challenge);
}
