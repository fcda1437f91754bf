import {
  type CryptoKey,
  calculateJwkThumbprint,
  createLocalJWKSet,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import { DAY_MS } from '../../../infra/days.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { sql } from '../../../infra/sql.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { SigningKey } from '../../accounts/tables.ts';

/** Algorithms that sign ID tokens; the first is the default, since every client supports it. */
export const SIGNING_ALGS = ['RS256', 'ES256'] as const;
type SigningAlg = (typeof SIGNING_ALGS)[number];

/** Time for which a key signs. */
const PERIOD_MS = 90 * DAY_MS;
/**
 * A scheduled replacement is published before it signs, for longer than clients cache the keys. The first key and the keys of
 * `rotate` sign immediately.
 */
const PUBLISHED_BEFORE_MS = DAY_MS;
/** A replaced key stays published, so that its tokens can be verified. */
const PUBLISHED_AFTER_MS = 7 * DAY_MS;

/**
 * The keys that sign ID tokens. The first reader that finds no key, or a key that soon stops signing, creates the next key, so no
 * timer is needed. Private keys are stored encrypted.
 */
export class SigningKeys {
  readonly #accounts: Accounts;

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /** The private key that signs now. */
  async signer(alg: SigningAlg): Promise<{ kid: string; key: CryptoKey }> {
    const key = signingKey(await this.#current(alg), this.#accounts.clock.now());
    return { kid: key.id, key: await this.#privateKey(key) };
  }

  /** The public keys that clients verify ID tokens with. */
  async published(): Promise<JWK[]> {
    const keys = await Promise.all(SIGNING_ALGS.map((alg) => this.#current(alg)));
    return keys.flat().map(({ id, alg, public_jwk }) => ({
      ...(JSON.parse(public_jwk) as JWK),
      kid: id,
      alg,
      use: 'sig',
    }));
  }

  /**
   * The claims of an ID token that this server signed, even if it expired; null for any other text. The caller checks
   * the audience.
   */
  async verify(token: string, issuer: string): Promise<JWTPayload | null> {
    const keys = createLocalJWKSet({ keys: await this.published() });
    const options = { issuer, algorithms: [...SIGNING_ALGS], currentDate: new Date(0) };
    try {
      return (await jwtVerify(token, keys, options)).payload;
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }

  /** The stored keys that are published, oldest first. Creates none. */
  async list(): Promise<readonly SigningKey[]> {
    return (await Promise.all(SIGNING_ALGS.map((alg) => this.#valid(alg)))).flat();
  }

  /** Creates keys that sign immediately. The old keys stay published for PUBLISHED_AFTER_MS, unless they are revoked. */
  async rotate({ revoke }: { revoke: boolean }): Promise<void> {
    for (const alg of SIGNING_ALGS) {
      await this.#replace(alg, (now) => ({
        signsFrom: now,
        oldKeysExpire: revoke ? now : now + PUBLISHED_AFTER_MS,
      }));
    }
  }

  async #current(alg: SigningAlg): Promise<readonly SigningKey[]> {
    const keys = await this.#valid(alg);
    if (!isDue(keys, this.#accounts.clock.now())) return keys;
    return this.#replace(alg, (now, newest) => {
      if (!isDue(newest, now)) return null;
      const signsFrom = newest.length === 0 ? now : now + PUBLISHED_BEFORE_MS;
      return { signsFrom, oldKeysExpire: signsFrom + PUBLISHED_AFTER_MS };
    });
  }

  #valid(alg: SigningAlg): Promise<SigningKey[]> {
    const { signingKeys, clock } = this.#accounts;
    const isValid = sql`alg = ${alg} AND (expires_ms = 0 OR expires_ms > ${clock.now()})`;
    return signingKeys.find(isValid, 'signs_from_ms, id');
  }

  /** Adds a key under a lock, unless `decide` returns null. Returns the valid keys. */
  #replace(
    alg: SigningAlg,
    decide: (now: number, keys: readonly SigningKey[]) => Replacement | null,
  ): Promise<readonly SigningKey[]> {
    const { locks, signingKeys, clock, seal } = this.#accounts;
    return locks.run(`signing keys/${alg}`, async (lease) => {
      const keys = await this.#valid(alg);
      const now = clock.now();
      const replacement = decide(now, keys);
      if (replacement === null) return keys;
      const added = await createKey(alg, seal, { now, signsFrom: replacement.signsFrom });
      await lease.ensure();
      // Expire the old keys first. If the process dies before it adds the new key, the next reader creates one: see `isDue`.
      for (const key of keys) await this.#expire(key, expiryOf(key, replacement.oldKeysExpire, now));
      await signingKeys.add(added);
      return this.#valid(alg);
    });
  }

  #expire({ id }: SigningKey, expires_ms: number): Promise<void> {
    return this.#accounts.signingKeys.change(id, (key) =>
      key === null ? { result: undefined } : { next: { ...key, expires_ms }, result: undefined },
    );
  }

  async #privateKey({ id, alg, private_jwk }: SigningKey): Promise<CryptoKey> {
    const { seal } = this.#accounts;
    try {
      return (await importJWK(JSON.parse(seal.decrypt(private_jwk, sealContext(id))), alg)) as CryptoKey;
    } catch (error) {
      throw new ProductError(
        'store_failed',
        `the signing key ${id} cannot be decrypted: restore the earlier SECRETS_KEY or secrets.key, or run \`chain-metrics keys rotate\``,
        reasonOf(error),
      );
    }
  }
}

interface Replacement {
  readonly signsFrom: number;
  readonly oldKeysExpire: number;
}

const sealContext = (kid: string) => `signing key ${kid}`;

/**
 * Whether a new key is needed: there is none, the newest key soon stops signing, or the newest key has an expiry. Only a
 * process that died during a replacement leaves such a key.
 */
function isDue(keys: readonly SigningKey[], now: number): boolean {
  const newest = keys.at(-1);
  if (newest === undefined || newest.expires_ms > 0) return true;
  return newest.signs_from_ms + PERIOD_MS - PUBLISHED_BEFORE_MS <= now;
}

/** The newest key that may sign now. If none may, because the clock of this server is behind, the oldest key. */
function signingKey(keys: readonly SigningKey[], now: number): SigningKey {
  const key = keys.findLast(({ signs_from_ms }) => signs_from_ms <= now) ?? keys[0];
  if (key === undefined) throw new Error('a key was just created, but none is valid');
  return key;
}

/** When a replaced key expires: immediately if it has not signed yet, and never later than before. */
function expiryOf({ signs_from_ms, expires_ms }: SigningKey, oldKeysExpire: number, now: number): number {
  if (signs_from_ms > now) return now;
  return expires_ms > 0 ? Math.min(expires_ms, oldKeysExpire) : oldKeysExpire;
}

async function createKey(
  alg: SigningAlg,
  seal: Accounts['seal'],
  { now, signsFrom }: { now: number; signsFrom: number },
): Promise<Omit<SigningKey, 'version'>> {
  const pair = await generateKeyPair(alg, { extractable: true, modulusLength: 2048 });
  const [publicJwk, privateJwk] = await Promise.all([exportJWK(pair.publicKey), exportJWK(pair.privateKey)]);
  const id = await calculateJwkThumbprint(publicJwk);
  return {
    id,
    alg,
    public_jwk: JSON.stringify(publicJwk),
    private_jwk: seal.encrypt(JSON.stringify(privateJwk), sealContext(id)),
    created_ms: now,
    signs_from_ms: signsFrom,
    expires_ms: 0,
  };
}
