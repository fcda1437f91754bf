import { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import { firstFault } from '../../infra/shape-error.ts';
import { headerHash } from './decode/check.ts';
import type { NodeHeader } from './decode/header.ts';
import { type RpcAnswer, resultOf } from './rpc.ts';

// Schemas of the answers of nodes, with the fields that are used.

const HEX = /^0x(?:[\da-f]{2})*$/;
export const hex = z.string().regex(HEX, 'is not hex');
export const blockHash = z.string().regex(/^0x[\da-f]{64}$/, 'is not a block hash');

/** Stops at the first invalid element. `z.array` would keep an error for each of millions of elements. */
const texts = (shape: RegExp) =>
  z.custom<readonly string[]>(
    (value) => Array.isArray(value) && value.every((text) => typeof text === 'string' && shape.test(text)),
    'is not a list of hex strings',
  );

const header = z.object({
  parentHash: blockHash,
  number: z.string().regex(/^0x[\da-f]{1,8}$/, 'is not a height'),
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

/** An answer of `state_getRuntimeVersion`. */
export const runtimeVersion = z.object({ specName: z.string(), specVersion: z.int().min(0) });

/** Validates a result. Throws the error of the answer, or `source_failed`. */
export function parseResult<T>(schema: z.ZodType<T>, answer: RpcAnswer, host: string): T {
  const parsed = schema.safeParse(resultOf(answer));
  if (parsed.success) return parsed.data;
  throw new ProductError(
    'source_failed',
    `${host} returned an unexpected result: ${firstFault(parsed.error)}`,
  );
}

/** The header of the block with a hash; null if the node lacks it. Throws for a header of another block. */
export function readHeader(hash: string, answer: RpcAnswer, host: string): NodeHeader | null {
  const found = parseResult(headerAnswer, answer, host);
  if (found === null || headerHash(found) === hash) return found;
  throw new ProductError('source_failed', `${host} returned the header of another block in place of ${hash}`);
}
