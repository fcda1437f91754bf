import type { SignedIn } from '../../accounts/sessions.ts';
import { signInPath } from '../../accounts/sessions.ts';
import type { Form } from '../../http/form.ts';
import { OAuthError } from './errors.ts';
import { optional } from './parameters.ts';

/** The pages that an application requests (OpenID Connect Core §3.1.2.1). */
interface Prompt {
  /** Show no page, and answer with an error instead. */
  readonly isSilent: boolean;
  readonly wantsConsent: boolean;
  readonly wantsAccountChoice: boolean;
  /** Earliest accepted sign-in, in milliseconds since the epoch; 0 = any. */
  readonly minSignInMs: number;
  /** Whether the user comes back from the sign-in page: the request has the parameter `signed_in_after`. */
  readonly isReturn: boolean;
}

/**
 * Parameter of the address to which the user returns after sign-in: the earliest accepted sign-in. It replaces `max_age` and
 * all values of `prompt` but `consent`, since these would lead to the sign-in page again.
 */
const MIN_SIGN_IN = 'signed_in_after';

/** Whether a request must be answered without a page (`prompt=none`), even if it is invalid. */
export function isSilent(form: Form): boolean {
  const values = form.getAll('prompt').flatMap(valuesOf);
  return values.length > 0 && values.every((value) => value === 'none');
}

const valuesOf = (prompt: string): string[] => prompt.split(' ').filter((value) => value !== '');

export function readPrompt(form: Form, now: number): Prompt {
  // Unknown values are ignored, as OpenID Connect advises.
  const values = new Set(valuesOf(optional(form, 'prompt')));
  if (values.has('none') && values.size > 1) {
    throw new OAuthError('invalid_request', 'prompt=none cannot be combined with other values.');
  }
  const returnedMs = readMinSignIn(form, now);
  return {
    isSilent: values.has('none'),
    wantsConsent: values.has('consent'),
    wantsAccountChoice: values.has('select_account'),
    minSignInMs: Math.max(values.has('login') ? now : 0, minSignInOfMaxAge(form, now), returnedMs),
    isReturn: returnedMs > 0,
  };
}

function minSignInOfMaxAge(form: Form, now: number): number {
  const seconds = optional(form, 'max_age');
  if (seconds === '') return 0;
  if (!/^\d{1,10}$/.test(seconds)) {
    throw new OAuthError('invalid_request', 'The max_age must be a whole number of seconds.');
  }
  return Math.max(0, now - Number(seconds) * 1000);
}

function readMinSignIn(form: Form, now: number): number {
  const time = Number(optional(form, MIN_SIGN_IN));
  return time > 0 && time <= now ? time : 0;
}

/** The reason for the sign-in page. */
type SignInPage = 'login' | 'select_account';

/** Why a request needs the sign-in page first; null if the session is sufficient. */
export function requiredSignIn(
  prompt: Prompt,
  signedIn: SignedIn | null,
  hintedUserId: string | null,
): SignInPage | null {
  if (signedIn === null || signedIn.session.created_ms < prompt.minSignInMs) return 'login';
  if (hintedUserId !== null && hintedUserId !== signedIn.user.id) {
    if (!prompt.isReturn) return 'login';
    throw new OAuthError(
      'login_required',
      'The user signed in to another account than that of id_token_hint.',
    );
  }
  return prompt.wantsAccountChoice ? 'select_account' : null;
}

/** The address of the sign-in page. It leads back to the request, without the parameters that the sign-in satisfies. */
export function signInUrl(
  url: string,
  prompt: Prompt,
  required: SignInPage,
  hintedUserId: string | null,
  now: number,
): string {
  // With a hint, set the parameter too: it marks the return, so a hint of another user cannot cause a redirect loop.
  const minSignInMs = hintedUserId !== null && required === 'login' ? now : prompt.minSignInMs;
  if (!prompt.wantsAccountChoice && minSignInMs === 0) return signInPath(url);
  const [path = '', query = ''] = url.split(/\?([\s\S]*)/, 2);
  const rest = new URLSearchParams(query);
  for (const name of ['prompt', 'max_age', MIN_SIGN_IN]) rest.delete(name);
  if (prompt.wantsConsent) rest.set('prompt', 'consent');
  if (minSignInMs > 0) rest.set(MIN_SIGN_IN, String(minSignInMs));
  return `/sign-in?again=${required}&next=${encodeURIComponent(`${path}?${rest}`)}`;
}
