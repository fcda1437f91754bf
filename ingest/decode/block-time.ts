import { z } from 'zod';
import { parseExact } from './json.ts';

const timedBlock = z.object({
  extrinsics: z.array(
    z.object({ method: z.object({ pallet: z.string(), method: z.string() }), args: z.unknown().optional() }),
  ),
});
const setTime = z.object({ now: z.coerce.number().int().positive() });

/** The chain's own time of a block in milliseconds; null when the line is no block, or one without a time. */
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
    // A block without a time that can be read: the caller looks at another one.
    return null;
  }
}
