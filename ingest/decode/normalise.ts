import { z } from 'zod';
import { byPosition } from './event-data.ts';

/**
 * The slow way in, for blocks that are not laid out as Sidecar does: other key orders, methods written as one
 * word, event data with names. It gives the layout that the engine's types read.
 */
const method = z.union([
  z.object({ pallet: z.string(), method: z.string() }),
  z
    .string()
    .regex(/^[^.]+\.[^.]+$/)
    .transform((text) => {
      const [pallet = '', method = ''] = text.split('.');
      return { pallet, method };
    }),
]);
const event = z
  .object({ method, data: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).nullish() })
  .transform(({ method, data }) => ({
    method,
    data: Array.isArray(data) ? data : byPosition(method.pallet, method.method, data ?? {}),
  }));
const events = z.object({ events: z.array(event).default([]) }).nullish();
const hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/, 'not a 32-byte hash');
const block = z.looseObject({
  number: z
    .union([z.string(), z.number(), z.bigint()])
    .transform(String)
    .pipe(z.string().regex(/^\d{1,18}$/)),
  hash,
  parentHash: hash,
  authorId: z.string().nullish(),
  finalized: z.boolean().nullish(),
  onInitialize: events,
  extrinsics: z.array(
    z.looseObject({
      method,
      signature: z.looseObject({ signer: z.unknown().optional() }).nullish(),
      args: z.unknown().optional(),
      events: z.array(event).nullish(),
    }),
  ),
  onFinalize: events,
});

export function normaliseBlock(document: unknown): { number: string; payload: object } | { refused: string } {
  const read = block.safeParse(document);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { refused: `no block: ${issue?.path.join('.') || 'document'}: ${issue?.message}` };
  }
  const { number, hash, parentHash, authorId, finalized, onInitialize, extrinsics, onFinalize } = read.data;
  const payload = {
    number,
    hash,
    parentHash,
    ...(authorId ? { authorId } : {}),
    onInitialize: { events: onInitialize?.events ?? [] },
    extrinsics: extrinsics.map((extrinsic) => ({
      ...extrinsic,
      args: typeof extrinsic.args === 'object' ? (extrinsic.args ?? {}) : {},
      info: typeof extrinsic.info === 'object' ? (extrinsic.info ?? {}) : {},
      events: extrinsic.events ?? [],
    })),
    onFinalize: { events: onFinalize?.events ?? [] },
    finalized: finalized ?? true,
  };
  return { number, payload };
}
