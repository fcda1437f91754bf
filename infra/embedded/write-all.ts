import { writevSync } from 'node:fs';

/** The kernel accepts no more buffers a call. */
const BUFFERS_MAX = 1024;

/** Writes consecutive pieces to a file, all of them: at a position, or where the last write ended. */
export function writeAll(descriptor: number, pieces: readonly Buffer[], position?: number): void {
  let at = position;
  for (let i = 0; i < pieces.length; i += BUFFERS_MAX) {
    let left = pieces.slice(i, i + BUFFERS_MAX);
    while (left.length > 0) {
      const written = writevSync(descriptor, left, at);
      if (at !== undefined) at += written;
      left = without(left, written);
    }
  }
}

/** What is left of pieces without their first bytes. */
function without(pieces: Buffer[], bytes: number): Buffer[] {
  let whole = 0;
  let rest = bytes;
  while (whole < pieces.length && rest >= (pieces[whole] as Buffer).length) {
    rest -= (pieces[whole] as Buffer).length;
    whole++;
  }
  const left = pieces.slice(whole);
  if (rest > 0 && left[0]) left[0] = left[0].subarray(rest);
  return left;
}
