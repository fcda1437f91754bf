export interface RedirectRules {
  /** Whether plain http is taken on every host, for development. */
  readonly insecure: boolean;
}

const CHARACTERS_MAX = 2000;
const LOOPBACK = /^http:\/\/(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?(?=[/?]|$)/;

/** What is wrong with an address that an application wants to register, in words; null when nothing is. */
export function redirectUriFault(text: string, { insecure }: RedirectRules): string | null {
  if (text.length > CHARACTERS_MAX) return `is longer than ${CHARACTERS_MAX} characters`;
  // Look-alike letters, line breaks and spaces: whoever means a host in another script writes it as xn--….
  if (!/^[\x21-\x7e]+$/.test(text))
    return 'holds a space, a line break or a letter beyond ASCII; write hosts as xn--…';
  if (/[\\"<>^`{|}]/.test(text)) return 'holds a character that has to be percent-encoded';
  const url = URL.parse(text);
  if (url === null || !/^[a-z][a-z0-9+.-]*:/i.test(text))
    return 'is no absolute address such as https://app.example.org/callback';
  if (text.includes('#')) return 'has a fragment (#…), which the answer cannot keep';
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/?]*@/i.test(text)) return 'names a user';
  if (url.protocol === 'https:') return hostFault(text, url);
  if (url.protocol === 'http:') {
    if (insecure || isLoopbackHost(url.hostname)) return hostFault(text, url);
    return 'uses plain http; use https, or http on 127.0.0.1 or [::1]';
  }
  // A scheme of an app's own is a reversed domain (RFC 8252 §7.1): nobody else would register it.
  if (/^[a-z][a-z0-9+-]*\.[a-z0-9+.-]+:\/(?!\/)/.test(text)) return null;
  return `uses the scheme ${url.protocol}; use https, or a reversed domain such as org.example.app:/callback`;
}

function hostFault(text: string, url: URL): string | null {
  if (!/^https?:\/\/[^/?]/i.test(text))
    return 'is no absolute address such as https://app.example.org/callback';
  if (url.hostname === '' || url.hostname.includes('*')) return 'names no host';
  return null;
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Whether a request's address is a registered one: the same text, or the same but for the port of a loopback
 * address, which a native application learns only when it starts (RFC 8252 §7.3, RFC 9700 §2.1).
 */
export function isRegistered(registered: readonly string[], given: string): boolean {
  return registered.some((one) => one === given || isSameLoopback(one, given));
}

function isSameLoopback(registered: string, given: string): boolean {
  const [left, leftHost] = LOOPBACK.exec(registered) ?? [];
  const [right, rightHost] = LOOPBACK.exec(given) ?? [];
  if (left === undefined || right === undefined) return false;
  return leftHost === rightHost && registered.slice(left.length) === given.slice(right.length);
}

/** The address with the parameters of an answer; those replace parameters of the same name in it. */
export function withParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const [base = '', query = ''] = address.split(/\?([\s\S]*)/, 2);
  const recordTable = query
    .split('&')
    .filter((field) => field !== '' && !Object.hasOwn(parameters, safeDecode(field.split('=')[0] ?? '')));
  const added = Object.entries(parameters).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`,
  );
  return `${base}?${[...recordTable, ...added].join('&')}`;
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Who gets the answer, as people should read it, and as a Content-Security-Policy names it. */
export function destinationOf(address: string): { readonly shown: string; readonly source: string } {
  const url = new URL(address);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb
    ? { shown: url.host, source: url.origin }
    : { shown: url.protocol.slice(0, -1), source: url.protocol };
}
