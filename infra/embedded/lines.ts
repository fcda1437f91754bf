const NEWLINE = 0x0a;

/** The lines of a buffer without their line ends, as views of the buffer. */
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
