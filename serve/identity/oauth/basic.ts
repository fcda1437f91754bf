/** The credentials of an `Authorization: Basic …` header (RFC 7617); null for anything else. */
export function readBasic(
  header: string | undefined,
): { readonly user: string; readonly password: string } | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header ?? '') ?? [];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? null : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
