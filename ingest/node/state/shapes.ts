import { z } from 'zod';

// Schemas of decoded values, and keys that runtimes derive.

const digits = z.string().regex(/^\d+$/);
export const amount = digits.transform(BigInt);
export const count = digits.transform(Number).pipe(z.int().min(0));
/** Text that a runtime stores as bytes. */
export const textOfBytes = z
  .string()
  .transform((text) => (text.startsWith('0x') ? Buffer.from(text.slice(2), 'hex').toString('utf8') : text));

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

const ACCOUNT_BYTES = 32;

/** The key of a pallet's account, or of a sub-account that the pallet derives for `suffix`. Nobody has its secret. */
export const palletAccount = (palletId: unknown, suffix: Uint8Array = Buffer.alloc(0)): Buffer => {
  const id = Buffer.from(z.string().parse(palletId).slice(2), 'hex');
  return Buffer.concat([Buffer.from('modl'), id, suffix, Buffer.alloc(ACCOUNT_BYTES)], ACCOUNT_BYTES);
};
