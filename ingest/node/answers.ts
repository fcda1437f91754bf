import { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import { firstFault } from '../../infra/shape-error.ts';
import { headerHash } from './decode/check.ts';
import type { NodeHeader } from './decode/header.ts';
import { type RpcAnswer, resultOf } from './rpc.ts';

// Answers of nodes, as far as they are read.

const HEX = /^0x(?:[\da-f]{2})*$/;
export const hex = z.string().regex(HEX, 'no hex');
export const blockHash = z.string().regex(/^0x[\da-f]{64}$/, 'no hash of a block');

/** Refused at its first other element: an array of zod keeps an error for each of millions. */
const texts = (shape: RegExp) =>
  z.custom<readonly string[]>(
    (given) => Array.isArray(given) && given.every((one) => typeof one === 'string' && shape.test(one)),
    'not a list of hex',
  );

const header = z.object({
  parentHash: blockHash,
  number: z.string().regex(/^0x[\da-f]{1,8}$/, 'no height'),
  stateRoot: blockHash,
  extrinsicsRoot: blockHash,
  digest: z.object({ logs: texts(HEX) }),
});

/** An answer of `chain_getHeader`. */
const headerAnswer = header.nullable();

/** An answer of `chain_getBlock`. */
export const blockAnswer = z.object({ block: z.object({ header, extrinsics: texts(/^0x/) }) }).nullable();

/** An answer of `state_getStorage`. */
export const storageAnswer = z.string().nullable();

export const heightOf = ({ number }: { readonly number: string }): number => Number(number);

/** The version of the runtime that a block's state holds, of `state_getRuntimeVersion`. */
export const runtimeVersion = z.object({ specName: z.string(), specVersion: z.int().min(0) });

/** A result as it has to be. Throws the error of the answer, or `source_failed`. */
export function read<T>(schema: z.ZodType<T>, answer: RpcAnswer, host: string): T {
  const parsed = schema.safeParse(resultOf(answer));
  if (parsed.success) return parsed.data;
  throw new ProductError(
    'source_failed',
    `${host} answered something other than expected: ${firstFault(parsed.error)}`,
  );
}

/** The header of a hash; null if the node has none. Throws for a header of another block. */
export function readHeader(hash: string, answer: RpcAnswer, host: string): NodeHeader | null {
  const given = read(headerAnswer, answer, host);
  if (given === null || headerHash(given) === hash) return given;
  throw new ProductError('source_failed', `${host} answered the header of another block than ${hash}`);
}
