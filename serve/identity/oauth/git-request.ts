export type GitAccess = 'read' | 'write';

const URI_CHARACTERS_MAX = 4096;

const SERVICES: Readonly<Record<string, GitAccess>> = {
  'git-upload-pack': 'read',
  'git-receive-pack': 'write',
};

/**
 * The access that a request of the Git protocol needs; null for any other request. The proxy and Git parse the address again,
 * so only the exact forms of Git clients are accepted. Ambiguous addresses are refused, for example with an encoded slash, a dot
 * segment or a fragment. The method is checked if the proxy sends it.
 */
export function gitAccessOf(uri: string, method: string | undefined): GitAccess | null {
  if (uri.length > URI_CHARACTERS_MAX) return null;
  const [, path = '', name = '', asked = ''] =
    /^((?:\/[^/?]+)*)\/(?:(git-[a-z]+-pack)|info\/refs\?service=(git-[a-z]+-pack))$/.exec(uri) ?? [];
  const service = name || asked;
  if (!Object.hasOwn(SERVICES, service) || !path.split('/').slice(1).every(isPlainSegment)) return null;
  if (method !== undefined && method !== (name === '' ? 'GET' : 'POST')) return null;
  return SERVICES[service] ?? null;
}

/** Letters and digits of any language and a few marks. Only non-ASCII characters may be encoded. */
function isPlainSegment(segment: string): boolean {
  if (/%[0-7]|[^\x21-\x7e]/.test(segment) || Object.hasOwn(SERVICES, segment.toLowerCase())) return false;
  try {
    return /^(?!\.+$)[\p{L}\p{M}\p{N}._~@+-]+$/u.test(decodeURIComponent(segment));
  } catch {
    // Malformed encoding names no repository.
    return false;
  }
}
