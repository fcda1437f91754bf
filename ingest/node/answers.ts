import { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import { firstFault } from '../../infra/shape-error.ts';
import { type RpcAnswer, resultOf } from './rpc.ts';

// Answers of nodes, as far as they are read.

export const hex = z.string().regex(/^0x(?:[\da-f]{2})*$/, 'no hex');
export const blockHash = z.string().regex(/^0x[\da-f]{64}$/, 'no hash of a block');

const header = z.object({
  parentHash: blockHash,
  number: z.string().regex(/^0x[\da-f]{1,8}$/, 'no height'),
  stateRoot: blockHash,
  extrinsicsRoot: blockHash,
  digest: z.object({ logs: z.array(z.string()) }),
});

/** An answer of `chain_getHeader`. */
export const headerAnswer = header.nullable();

/** An answer of `chain_getBlock`. */
export const blockAnswer = z
  .object({ block: z.object({ header, extrinsics: z.array(z.string()) }) })
  .nullable();

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
