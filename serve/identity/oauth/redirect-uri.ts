interface RedirectRules {
  /** Whether plain http is accepted on every host, for development. */
  readonly insecure: boolean;
}

const CHARACTERS_MAX = 2000;
/** A name, or an address in the form that the URL parser writes. It also accepts `;` and `*`, which no host has. */
const HOST = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])$/;
const LOOPBACK = /^http:\/\/(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|localhost)(?::\d{1,5})?(?=[/?]|$)/;
/** A private-use scheme must be a reversed domain name (RFC 8252 §7.1). Both spellings are in use, `:/` and `://`. */
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:\//;

/** The reason why a redirect URI cannot be registered, as the end of a sentence; null if it can. */
export function redirectUriFault(text: string, { insecure }: RedirectRules): string | null {
  if (text.length > CHARACTERS_MAX) return `is longer than ${CHARACTERS_MAX} characters`;
  // Only ASCII, since letters of other scripts look alike; international hosts are written as xn--….
  if (!/^[\x21-\x7e]+$/.test(text))
    return 'contains a space, a line break or a non-ASCII character; write international hosts as xn--…';
  if (/[\\"<>^`{|}]/.test(text)) return 'contains a character that must be percent-encoded';
  const url = URL.parse(text);
  if (url === null || !/^[a-z][a-z0-9+.-]*:/i.test(text))
    return 'is not an absolute URI such as https://app.example.org/callback';
  if (text.includes('#')) return 'contains a fragment (#…)';
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/?]*@/i.test(text))
    return 'contains a user name or a password';
  if (url.protocol === 'https:') return hostFault(text, url);
  if (url.protocol === 'http:') {
    if (insecure || isLoopbackHost(url.hostname)) return hostFault(text, url);
    return 'uses plain http; use https, or http on localhost, 127.0.0.1 or [::1]';
  }
  if (PRIVATE_USE.test(text)) return null;
  return `uses the scheme ${url.protocol}; use https, or a reversed domain name in lower case with a path, such as org.example.app:/callback or org.example.app://callback`;
}

function hostFault(text: string, url: URL): string | null {
  if (!/^https?:\/\/[^/?]/i.test(text))
    return 'is not an absolute URI such as https://app.example.org/callback';
  if (!HOST.test(url.hostname)) return 'has no valid host name';
  return null;
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Whether a redirect URI is registered. URIs are compared as text; only the port of a loopback address may differ,
 * since a native application does not know it in advance (RFC 8252 §7.3, RFC 9700 §2.1).
 */
export function isRegistered(registered: readonly string[], given: string): boolean {
  return registered.some((uri) => uri === given || isSameLoopback(uri, given));
}

function isSameLoopback(registered: string, given: string): boolean {
  const [origin, host] = LOOPBACK.exec(registered) ?? [];
  const [givenOrigin, givenHost] = LOOPBACK.exec(given) ?? [];
  if (origin === undefined || givenOrigin === undefined) return false;
  // The pattern accepts ports and addresses that no URL can have.
  if (!URL.canParse(given)) return false;
  return host === givenHost && registered.slice(origin.length) === given.slice(givenOrigin.length);
}

/** Adds the parameters of the response, which replace parameters of the same name. */
export function withParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const [base = '', query = ''] = address.split(/\?([\s\S]*)/, 2);
  const own = query
    .split('&')
    .filter((field) => field !== '' && !Object.hasOwn(parameters, safeDecode(field.split('=')[0] ?? '')));
  const added = Object.entries(parameters).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`,
  );
  return `${base}?${[...own, ...added].join('&')}`;
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // Malformed text cannot have the name of a parameter.
    return text;
  }
}

/** Whether a redirect URI uses http or https, so that a form can be posted to it. */
export const isWebAddress = (address: string): boolean => /^https?:/i.test(address);

/** The destination of a redirect, for display. */
export function destinationOf(address: string): string {
  const { protocol, host } = new URL(address);
  return isWebAddress(address) ? host : protocol.slice(0, -1);
}
