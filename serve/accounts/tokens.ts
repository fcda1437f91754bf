import { isLocator, newSecret } from './secrets.ts';

/**
 * A token is a prefix, by which people and secret scanners recognize its kind, the id of its grant, and a secret of
 * at least 256 random bits, of which only the hash is stored.
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
/** The secret of a refresh token has two parts: see `refreshParts`. */
const LENGTHS: Record<TokenKind, number> = {
  access: SECRET_LENGTH,
  refresh: 2 * SECRET_LENGTH,
  code: SECRET_LENGTH,
  personal: SECRET_LENGTH,
  key: SECRET_LENGTH,
};

function writeToken({ kind, id, secret }: Token): string {
  return `${PREFIXES[kind]}${id}${secret}`;
}

/** A new token of a grant, and its secret to be hashed. */
export function makeToken(
  kind: TokenKind,
  id: string,
  secret = newSecret(),
): { text: string; secret: string } {
  return { text: writeToken({ kind, id, secret }), secret };
}

/** Parses a token; null for text that is not in the format of this product. */
export function readToken(text: string): Token | null {
  const kind = (Object.keys(PREFIXES) as TokenKind[]).find((name) => text.startsWith(PREFIXES[name]));
  if (kind === undefined) return null;
  const id = text.slice(PREFIX_LENGTH, PREFIX_LENGTH + LOCATOR_LENGTH);
  const secret = text.slice(PREFIX_LENGTH + LOCATOR_LENGTH);
  const isValid = isLocator(id) && secret.length === LENGTHS[kind] && /^[A-Za-z0-9_-]+$/.test(secret);
  return isValid ? { kind, id, secret } : null;
}

/** The two parts of a refresh token's secret: the part that all refresh tokens of its grant share, and its own part. */
export const refreshParts = ({ secret }: Token): { readonly family: string; readonly own: string } => ({
  family: secret.slice(0, SECRET_LENGTH),
  own: secret.slice(SECRET_LENGTH),
});
