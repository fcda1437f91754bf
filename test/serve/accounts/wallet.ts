import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { blake2b } from '@noble/hashes/blake2.js';
import * as sr25519 from '@scure/sr25519';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import type { Scheme } from '../../../serve/accounts/wallet-signature.ts';
import type { Browser } from './browser.ts';

const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`;
const hash = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 32 });

export interface Key {
  readonly scheme: Scheme;
  readonly address: string;
  sign(text: string): string;
}

export function keyOf(scheme: Scheme, seedByte: number): Key {
  const seed = new Uint8Array(32).fill(seedByte);
  if (scheme === 'sr25519') {
    const secret = sr25519.secretFromSeed(seed);
    return {
      scheme,
      address: encodeAddress(hex(sr25519.getPublicKey(secret)), 0),
      sign: (text) => hex(sr25519.sign(secret, Buffer.from(text))),
    };
  }
  if (scheme === 'ed25519') {
    return {
      scheme,
      address: encodeAddress(hex(ed25519.getPublicKey(seed)), 0),
      sign: (text) => hex(ed25519.sign(Buffer.from(text), seed)),
    };
  }
  return {
    scheme,
    address: encodeAddress(hex(hash(secp256k1.getPublicKey(seed, true))), 0),
    sign: (text) => {
      const given = secp256k1.sign(hash(Buffer.from(text)), seed, { prehash: false, format: 'recovered' });
      return hex(Buffer.concat([given.subarray(1), given.subarray(0, 1)]));
    },
  };
}

export const SCHEMES = ['sr25519', 'ed25519', 'ecdsa'] as const;

export async function challenge(
  browser: Browser,
  key: { address: string; scheme: string },
  purpose = 'sign in',
  page = '/sign-in',
) {
  const answer = await browser.submit(page, '/wallet/challenge', {
    purpose,
    address: key.address,
    scheme: key.scheme,
  });
  return { status: answer.statusCode, ...answer.json<{ sealed: string; message: string; error?: string }>() };
}
export const signIn = (browser: Browser, sealed: string, signature: string) =>
  browser.submit('/sign-in', '/sign-in/wallet', { sealed, signature, next: '/profile' });
export const isIn = async (browser: Browser) => (await browser.get('/profile')).statusCode === 200;
