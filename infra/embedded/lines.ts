const NEWLINE = 0x0a;

/** The lines of a buffer, without their ends; the buffer is shared, not copied. */
export function splitLines(buffer: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let from = 0;
  while (from < buffer.length) {
    const end = buffer.indexOf(NEWLINE, from);
    if (end < 0) {
      lines.push(buffer.subarray(from));
      break;
    }
    lines.push(buffer.subarray(from, end));
    from = end + 1;
  }
  return lines;
}
