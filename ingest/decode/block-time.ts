import { z } from 'zod';
import { parseExact } from './json.ts';

const timedBlock = z.object({
  extrinsics: z.array(
    z.object({ method: z.object({ pallet: z.string(), method: z.string() }), args: z.unknown().optional() }),
  ),
});
const setTime = z.object({ now: z.coerce.number().int().positive() });

/** The time that a block sets, in milliseconds; null if the line is not a block or sets no time. */
export function timeOf(line: Buffer): number | null {
  const block = timedBlock.safeParse(parsedOrNull(line));
  if (!block.success) return null;
  const time = block.data.extrinsics.find(
    ({ method }) => method.pallet === 'timestamp' && method.method === 'set',
  );
  const read = setTime.safeParse(time?.args);
  return read.success ? read.data.now : null;
}

function parsedOrNull(line: Buffer): unknown {
  try {
    return parseExact(line.toString('utf8'));
  } catch {
    // The caller tries another block.
    return null;
  }
}
