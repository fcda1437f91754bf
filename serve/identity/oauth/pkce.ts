import { hash } from 'node:crypto';
import type { Form } from '../../http/form.ts';
import { isSameText } from '../accounts/secrets.ts';
import type { Application } from '../accounts/tables.ts';
import { missingParameter, OAuthError } from './errors.ts';
import { optional } from './parameters.ts';

/** The challenge of an authorization request (RFC 7636 §4.3); '' when there is none and none is needed. */
export function readChallenge(form: Form, application: Application): string {
  const challenge = optional(form, 'code_challenge');
  const method = optional(form, 'code_challenge_method');
  if (challenge === '') {
    if (method !== '') throw missingParameter('code_challenge');
    if (!application.is_confidential) {
      throw new OAuthError(
        'invalid_request',
        'Missing required parameter: code_challenge. Applications without a secret must use PKCE.',
      );
    }
    return '';
  }
  // Without a method RFC 7636 means `plain`, which protects nothing that S256 would not.
  if (method !== 'S256') throw new OAuthError('invalid_request', 'The code_challenge_method must be S256.');
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    throw new OAuthError(
      'invalid_request',
      'The code_challenge must be 43 characters of base64url without padding.',
    );
  }
  return challenge;
}

/** Throws `invalid_request` for a verifier that cannot be one (RFC 7636 §4.1). */
export function checkVerifierForm(verifier: string): void {
  if (verifier !== '' && !/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) {
    throw new OAuthError(
      'invalid_request',
      'The code_verifier must be 43 to 128 characters of A-Z, a-z, 0-9, hyphen, dot, underscore and tilde.',
    );
  }
}

/**
 * Whether a verifier proves the challenge (RFC 7636 §4.6). One without a stored challenge never does: somebody may
 * have taken the challenge out of the authorization request (RFC 9700 §4.8.2).
 */
export function isProven(challenge: string, verifier: string): boolean {
  return challenge !== '' && isSameText(hash('sha256', verifier, 'base64url'), challenge);
}
