import { isLocator, newSecret } from './secrets.ts';

/**
 * Every token tells its kind by its first characters, so that people and secret scanners know it, and names the
 * row that it belongs to; what follows is at least 256 random bits, of which only the hash is stored.
 */
const PREFIXES = {
  access: 'cma_',
  refresh: 'cmr_',
  code: 'cmc_',
  personal: 'cmp_',
  key: 'cmk_',
} as const;

export type TokenKind = keyof typeof PREFIXES;

export interface Token {
  readonly kind: TokenKind;
  /** Id of the grant. */
  readonly id: string;
  readonly secret: string;
}

const PREFIX_LENGTH = 4;
const LOCATOR_LENGTH = 22;
export const SECRET_LENGTH = 43;
/** Of a refresh token: the part that its family shares, then its own. */
const LENGTHS: Record<TokenKind, number> = {
  access: SECRET_LENGTH,
  refresh: 2 * SECRET_LENGTH,
  code: SECRET_LENGTH,
  personal: SECRET_LENGTH,
  key: SECRET_LENGTH,
};

export function writeToken({ kind, id, secret }: Token): string {
  return `${PREFIXES[kind]}${id}${secret}`;
}

/** A new token of a grant, with its secret apart, for the hash. */
export function makeToken(
  kind: TokenKind,
  id: string,
  secret = newSecret(),
): { text: string; secret: string } {
  return { text: writeToken({ kind, id, secret }), secret };
}

/** Null for anything that this product never gave out. */
export function readToken(text: string): Token | null {
  const kind = (Object.keys(PREFIXES) as TokenKind[]).find((name) => text.startsWith(PREFIXES[name]));
  if (kind === undefined) return null;
  const id = text.slice(PREFIX_LENGTH, PREFIX_LENGTH + LOCATOR_LENGTH);
  const secret = text.slice(PREFIX_LENGTH + LOCATOR_LENGTH);
  const isWhole = isLocator(id) && secret.length === LENGTHS[kind] && /^[A-Za-z0-9_-]+$/.test(secret);
  return isWhole ? { kind, id, secret } : null;
}
