import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { blake2b } from '@noble/hashes/blake2.js';
import * as sr25519 from '@scure/sr25519';

/** The key types of Polkadot accounts. */
export const SCHEMES = ['sr25519', 'ed25519', 'ecdsa'] as const;
export type Scheme = (typeof SCHEMES)[number];

export const isScheme = (name: string): name is Scheme => (SCHEMES as readonly string[]).includes(name);

const LENGTHS: Record<Scheme, number> = { sr25519: 64, ed25519: 64, ecdsa: 65 };
/** The optional first byte of a signature that names its type, as in the runtime's MultiSignature. */
const TYPE_BYTES: Record<Scheme, number> = { ed25519: 0, sr25519: 1, ecdsa: 2 };

/**
 * Whether an account signed a text. Extensions wrap the text in `<Bytes>` and `</Bytes>`; both forms are accepted.
 * Only the expected key type is tried, so that a signature of one type never counts as another.
 */
export function isSignedBy(accountId: string, scheme: Scheme, text: string, signature: string): boolean {
  const key = bytesOf(accountId);
  const given = bytesOf(signature);
  const bare = given && bareSignature(scheme, given);
  if (key?.length !== 32 || !bare) return false;
  return [text, `<Bytes>${text}</Bytes>`].some((signed) => {
    try {
      return VERIFY[scheme](bare, Buffer.from(signed), key);
    } catch {
      // The library throws for points that are not on the curve and for values out of range.
      return false;
    }
  });
}

const VERIFY: Record<Scheme, (signature: Uint8Array, message: Uint8Array, accountId: Uint8Array) => boolean> =
  {
    sr25519: (signature, message, key) => sr25519.verify(message, signature, key),
    // Strict RFC 8032 verification: signatures are not malleable.
    ed25519: (signature, message, key) => ed25519.verify(signature, message, key, { zip215: false }),
    // The account id is a hash of the public key, so the key is recovered from the signature.
    ecdsa: (signature, message, key) => {
      const recovered = Buffer.concat([signature.subarray(64), signature.subarray(0, 64)]);
      const publicKey = secp256k1.recoverPublicKey(recovered, hash256(message), { prehash: false });
      return Buffer.from(hash256(publicKey)).equals(key);
    },
  };

const hash256 = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 32 });

function bareSignature(scheme: Scheme, given: Buffer): Buffer | null {
  if (given.length === LENGTHS[scheme]) return given;
  return given.length === LENGTHS[scheme] + 1 && given[0] === TYPE_BYTES[scheme] ? given.subarray(1) : null;
}

function bytesOf(hex: string): Buffer | null {
  return /^0x(?:[0-9a-f]{2})+$/i.test(hex) && hex.length <= 2 + 2 * 66
    ? Buffer.from(hex.slice(2), 'hex')
    : null;
}
