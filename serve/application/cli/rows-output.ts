import { createWriteStream } from 'node:fs';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { userUmask } from '../../../infra/data-directory.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { ignore } from '../../../infra/ignore.ts';
import { formatBytes } from './format.ts';
import { RowDetector } from './no-rows.ts';

const BINARY = ['parquet', 'arrow', 'zst'];
const BY_ENDING: Readonly<Record<string, string>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
  '.parquet': 'parquet',
  '.arrow': 'arrow',
};

/** The format that the extension of a file names. */
export const formatOf = (output: string | undefined): string | undefined =>
  BY_ENDING[extname(output ?? '').toLowerCase()];

/** Throws if a binary format would be written to a terminal. */
export function refuseBinaryTerminal(format: string, output: string | undefined): void {
  if (output === undefined && BINARY.includes(format) && process.stdout.isTTY) {
    throw new ProductError(
      'usage',
      `${format} is a binary format, and standard output is a terminal: use --output FILE or a pipe`,
    );
  }
}

/** Writes rows. If there are none, explains that on standard error, since a header alone explains nothing. */
export async function writeRowsOrExplain(
  rows: Readable,
  { format, output }: { readonly format: string; readonly output: string | undefined },
  explain: () => Promise<string | null>,
): Promise<void> {
  const detector = new RowDetector(format);
  rows.once('error', (error) => detector.destroy(error));
  await writeRows(rows.pipe(detector), output);
  rows.destroy();
  const reason = detector.readableEnded && (await detector.isEmpty()) ? await explain() : null;
  if (reason !== null) process.stderr.write(`no rows: ${reason}\n`);
}

/** Writes rows to standard output or to a file. For a file it prints the size on standard error. */
export async function writeRows(rows: Readable, output: string | undefined): Promise<void> {
  if (output === undefined) await printRows(rows);
  else process.stderr.write(`${output}: ${formatBytes(await save(rows, output))}\n`);
}

async function printRows(rows: Readable): Promise<void> {
  for await (const piece of rows) {
    const failure = await new Promise<NodeJS.ErrnoException | null | undefined>((written) =>
      process.stdout.write(piece, written),
    );
    // The reader of the pipe has closed it, as `head` does.
    if (failure?.code === 'EPIPE' || process.stdout.destroyed) return;
    if (failure) throw outputFailure(failure);
  }
}

export const outputFailure = (error: unknown): ProductError =>
  new ProductError('output_unwritable', `standard output cannot be written: ${reasonOf(error)}`);

/** Mode of a new file, less what the user's umask takes away. */
const FILE_MODE = 0o666;

/** Replaces the file only if it is complete. */
async function save(rows: Readable, output: string): Promise<number> {
  const part = `${output}.part`;
  try {
    // The umask of this process is 077; a file of --output gets the mode of the user's own umask.
    await writeFile(part, '');
    await chmod(part, FILE_MODE & ~userUmask);
    const file = createWriteStream(part);
    await pipeline(rows, file);
    await rename(part, output);
    return file.bytesWritten;
  } catch (error) {
    rows.destroy();
    // The next attempt replaces a part that could not be removed.
    await rm(part, { force: true }).catch(ignore('output.part'));
    throw new ProductError('usage', `${output} cannot be written: ${reasonOf(error)}`);
  }
}
