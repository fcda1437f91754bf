import { z } from 'zod';
import { firstFault, shapeError } from '../../infra/shape-error.ts';
import { byPosition } from './event-data.ts';
import { isNumberAsWritten } from './json.ts';
import { asRecord } from './names.ts';
import { explainNestedBlocks } from './nested-blocks.ts';

/**
 * Converts blocks whose layout differs from Sidecar's: other key orders, methods as one word, event data with names. The
 * result has the layout of the engine's column types. It accepts everything that they accept: one bad line sends its whole
 * batch through this code, and the rows of the other blocks must not change. So values that the engine reads as text stay
 * unchanged, and fields that it does not read are dropped.
 */
const method = z
  .union([
    z
      .string()
      .regex(/^[^.]+\.[^.]+$/)
      .transform((text) => {
        const [pallet = '', method = ''] = text.split('.');
        return { pallet, method };
      }),
    z.looseObject({ pallet: z.unknown().optional(), method: z.unknown().optional() }),
  ])
  .nullish();
const data = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).nullish();
const event = z
  .object({ method, data })
  .nullish()
  .transform((given) => {
    const { method, data } = given ?? {};
    if (Array.isArray(data)) return { method, data };
    const [pallet, name] = [method?.pallet, method?.method].map((part) =>
      typeof part === 'string' ? part : '',
    );
    return { method, data: byPosition(pallet as string, name as string, data ?? {}) };
  });
const events = z.array(event).nullish();
const phase = z.object({ events }).nullish();
const anything = z.unknown().optional();
const extrinsic = z
  .object({
    method,
    signature: z.object({ signer: anything }).nullish(),
    nonce: anything,
    args: anything,
    tip: anything,
    hash: anything,
    info: anything,
    success: anything,
    paysFee: anything,
    events,
  })
  .nullish()
  .transform((given) => ({
    ...given,
    // Old runtimes have a text with the reason here.
    info: isNumberAsWritten(given?.info) ? {} : (asRecord(given?.info) ?? {}),
    events: given?.events ?? [],
  }));
/** The error of a schema: `reason`, or the common message if the field is missing. */
const unlessMissing = (reason: string) => ({
  error: ({ input }: { readonly input?: unknown }) => (input === undefined ? undefined : reason),
});
const NO_HASH = 'not a 32-byte hash';
const hash = z.string(unlessMissing(NO_HASH)).regex(/^0x[0-9a-fA-F]{64}$/, NO_HASH);
const NO_HEIGHT = 'not a height of up to 18 decimal digits';

const block = z.object({
  number: z
    .union([z.string(), z.number(), z.bigint()], unlessMissing(NO_HEIGHT))
    .transform(String)
    .pipe(z.string().regex(/^\d{1,18}$/, NO_HEIGHT)),
  hash,
  parentHash: hash,
  authorId: anything,
  finalized: anything,
  onInitialize: phase,
  extrinsics: z.array(extrinsic),
  onFinalize: phase,
});

export function normaliseBlock(
  document: unknown,
): { number: string; payload: Readonly<Record<string, unknown>> } | { refused: string } {
  const read = block.safeParse(document, { error: shapeError });
  if (!read.success) {
    return { refused: explainNestedBlocks(document) ?? `no block: ${firstFault(read.error)}` };
  }
  const { number, hash, parentHash, authorId, finalized, onInitialize, extrinsics, onFinalize } = read.data;
  const payload = {
    number,
    hash,
    parentHash,
    authorId,
    onInitialize: { events: onInitialize?.events ?? [] },
    extrinsics,
    onFinalize: { events: onFinalize?.events ?? [] },
    finalized,
  };
  return { number, payload };
}
