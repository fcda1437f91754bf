import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { makeDirectory } from '../../infra/make-directory.ts';

const SECRET_BYTES = 32;
const LOCATOR_BYTES = 16;
const TAG_BYTES = 16;

/** 256 random bits as 43 characters that need no encoding anywhere. */
export const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

/** 32 unambiguous letters and digits, so 5 bits each. */
const READABLE = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Random characters that people can read aloud and type. */
export const readableCode = (length: number): string =>
  Array.from({ length }, () => READABLE[randomInt(READABLE.length)]).join('');

const LETTERS_AND_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const ROUTING_KEY_CHARACTERS = 32;

/** A key in the format of PagerDuty's Events API: 32 letters and digits, 190 random bits. */
export const newRoutingKey = (): string =>
  Array.from(
    { length: ROUTING_KEY_CHARACTERS },
    () => LETTERS_AND_DIGITS[randomInt(LETTERS_AND_DIGITS.length)],
  ).join('');

/** A random id of a stored row. It may be part of a token, but is not secret. */
export const newLocator = (): string => randomBytes(LOCATOR_BYTES).toString('base64url');
export const isLocator = (text: string): boolean => /^[A-Za-z0-9_-]{22}$/.test(text);

/** The stored form of a secret of 256 random bits. Such a secret cannot be guessed, so the hash needs no salt. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');

/** Compares in constant time; an empty hash equals nothing. */
export function isSecretOf(storedHash: string, secret: string): boolean {
  const given = Buffer.from(hashSecret(secret));
  const stored = Buffer.from(storedHash);
  return stored.length === given.length && timingSafeEqual(stored, given);
}

/** Compares two texts by their hashes, so the time does not reveal the position of a difference. */
export function isSameText(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(a)), Buffer.from(hashSecret(b)));
}

interface SealSettings {
  readonly SECRETS_KEY?: string | undefined;
  readonly DATA_DIR: string;
}

/** The server's key: it signs form tokens and encrypts the few secrets that must be readable again. */
export class Seal {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Reads the key from SECRETS_KEY or from secrets.key in the data directory. Creates that file if it is missing. */
  static open({ SECRETS_KEY, DATA_DIR }: SealSettings): Seal {
    if (SECRETS_KEY !== undefined) return new Seal(Buffer.from(SECRETS_KEY, 'base64'));
    const file = join(DATA_DIR, 'secrets.key');
    try {
      return new Seal(readKey(file) ?? makeKey(file, DATA_DIR));
    } catch (error) {
      if (error instanceof ProductError) throw error;
      throw new ProductError('store_unwritable', `${file} cannot be read or created`, reasonOf(error));
    }
  }

  /** A signature that is valid only for its purpose. */
  sign(purpose: string, text: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n${text}`).digest('base64url');
  }

  isSigned(purpose: string, text: string, signature: string): boolean {
    return isSameText(this.sign(purpose, text), signature);
  }

  /** Encrypts a text for storage; `context` binds it to its row. */
  encrypt(text: string, context: string): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
  }

  /** Throws if the text was changed, or was encrypted with another key or for another row. */
  decrypt(encrypted: string, context: string): string {
    const bytes = Buffer.from(encrypted, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(12, 12 + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(12 + TAG_BYTES)), decipher.final()]).toString(
      'utf8',
    );
  }
}

function readKey(file: string): Buffer | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const key = Buffer.from(text, 'base64');
  if (key.length === SECRET_BYTES) return key;
  throw new ProductError(
    'store_failed',
    `${file} does not contain a key of ${SECRET_BYTES} bytes: restore it from a backup. Without a backup, delete the file, ` +
      'replace the signing keys (`chain-metrics keys rotate`), and reset the two-factor authentication of every account ' +
      'that uses it (`chain-metrics users reset-two-factor`)',
  );
}

/** Writes the key to a temporary file first, so that the file is always complete. */
function makeKey(file: string, directory: string): Buffer {
  makeDirectory(directory, 0o700);
  const key = randomBytes(SECRET_BYTES);
  const part = `${file}.${process.pid}.part`;
  try {
    writeDurably(part, `${key.toString('base64')}\n`);
    renameWithoutReplacing(part, file);
    return key;
  } catch (error) {
    // Another process has created the file: use its key.
    const existing = (error as NodeJS.ErrnoException).code === 'EEXIST' ? readKey(file) : undefined;
    if (existing === undefined) throw error;
    return existing;
  } finally {
    rmSync(part, { force: true });
  }
}

/** Links the file, because a link fails if the name exists. Falls back to a rename on file systems without links. */
function renameWithoutReplacing(part: string, file: string): void {
  try {
    linkSync(part, file);
  } catch (error) {
    if (!LINKS_UNKNOWN.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    renameSync(part, file);
  }
}

/** Codes of file systems that have no links. */
const LINKS_UNKNOWN: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

function writeDurably(file: string, text: string): void {
  const descriptor = openSync(file, 'w', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
