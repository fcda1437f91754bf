import type { SignedIn } from '../../accounts/sessions.ts';
import { signInPath } from '../../accounts/sessions.ts';
import type { Form } from '../../http/form.ts';
import { OAuthError } from './errors.ts';
import { optional } from './parameters.ts';

/** What an application wants the user to be asked (OpenID Connect Core §3.1.2.1). */
interface Prompt {
  /** Nothing: the answer is an error where a page would be needed. */
  readonly isSilent: boolean;
  readonly wantsConsent: boolean;
  readonly wantsAccountChoice: boolean;
  /** Milliseconds since the epoch: an earlier sign-in is not enough. 0 = any sign-in. */
  readonly signedInAfter: number;
  /** Whether this request has already led to the sign-in page. */
  readonly isAfterSignIn: boolean;
}

/** In the address to which the user returns, it replaces what the sign-in has fulfilled. */
const SIGNED_IN_AFTER = 'signed_in_after';

/** Whether a request asks for an answer without any page, even if it is wrong in another way. */
export function isSilent(form: Form): boolean {
  const values = form.getAll('prompt').flatMap(valuesOf);
  return values.length > 0 && values.every((value) => value === 'none');
}

const valuesOf = (prompt: string): string[] => prompt.split(' ').filter((value) => value !== '');

export function readPrompt(form: Form, now: number): Prompt {
  // Values that this server does not know are ignored, as OpenID Connect advises.
  const values = new Set(valuesOf(optional(form, 'prompt')));
  if (values.has('none') && values.size > 1) {
    throw new OAuthError('invalid_request', 'prompt=none cannot be combined with other values.');
  }
  const earlier = earlierRequest(form, now);
  return {
    isSilent: values.has('none'),
    wantsConsent: values.has('consent'),
    wantsAccountChoice: values.has('select_account'),
    signedInAfter: Math.max(values.has('login') ? now : 0, oldestSignIn(form, now), earlier),
    isAfterSignIn: earlier > 0,
  };
}

function oldestSignIn(form: Form, now: number): number {
  const seconds = optional(form, 'max_age');
  if (seconds === '') return 0;
  if (!/^\d{1,10}$/.test(seconds)) {
    throw new OAuthError('invalid_request', 'The max_age must be a whole number of seconds.');
  }
  return Math.max(0, now - Number(seconds) * 1000);
}

function earlierRequest(form: Form, now: number): number {
  const time = Number(optional(form, SIGNED_IN_AFTER));
  return time > 0 && time <= now ? time : 0;
}

/** The page that the user has to pass before the request continues. */
type SignInPage = 'login' | 'select_account';

/** The sign-in that a request needs first; null when the session is enough. */
export function neededSignIn(
  prompt: Prompt,
  signedIn: SignedIn | null,
  hintedUserId: string | null,
): SignInPage | null {
  if (signedIn === null || signedIn.session.created_ms < prompt.signedInAfter) return 'login';
  if (hintedUserId !== null && hintedUserId !== signedIn.user.id) {
    if (!prompt.isAfterSignIn) return 'login';
    throw new OAuthError(
      'login_required',
      'The user signed in to another account than the one that id_token_hint names.',
    );
  }
  return prompt.wantsAccountChoice ? 'select_account' : null;
}

/** The sign-in page. It leads back to the request without the parameters that the sign-in fulfils. */
export function signInFirst(
  url: string,
  prompt: Prompt,
  needed: SignInPage,
  hintedUserId: string | null,
  now: number,
): string {
  // With a hint, too, the address records the sign-in, so that a hint of another user cannot cause a redirect loop.
  const after = hintedUserId !== null && needed === 'login' ? now : prompt.signedInAfter;
  if (!prompt.wantsAccountChoice && after === 0) return signInPath(url);
  const [path = '', query = ''] = url.split(/\?([\s\S]*)/, 2);
  const rest = new URLSearchParams(query);
  for (const name of ['prompt', 'max_age', SIGNED_IN_AFTER]) rest.delete(name);
  if (prompt.wantsConsent) rest.set('prompt', 'consent');
  if (after > 0) rest.set(SIGNED_IN_AFTER, String(after));
  return `/sign-in?again=${needed}&next=${encodeURIComponent(`${path}?${rest}`)}`;
}
