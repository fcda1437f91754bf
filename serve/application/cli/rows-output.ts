import { createWriteStream } from 'node:fs';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { userUmask } from '../../../infra/data-directory.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { ignore } from '../../../infra/ignore.ts';
import { RowWatch } from './no-rows.ts';
import { formatBytes } from './words.ts';

const BINARY = ['parquet', 'arrow', 'zst'];
const BY_ENDING: Readonly<Record<string, string>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
  '.parquet': 'parquet',
  '.arrow': 'arrow',
};

/** The format that the ending of a file names, if any. */
export const formatOf = (output: string | undefined): string | undefined =>
  BY_ENDING[extname(output ?? '').toLowerCase()];

/** Throws where bytes that are no text would come to a terminal. */
export function refuseBinaryTerminal(format: string, output: string | undefined): void {
  if (output === undefined && BINARY.includes(format) && process.stdout.isTTY) {
    throw new ProductError(
      'usage',
      `${format} is not for a terminal: name a file with --output, or use a pipe`,
    );
  }
}

/** Writes rows and, where there are none, says why on standard error: a header alone explains nothing. */
export async function putWatchedRows(
  rows: Readable,
  { format, output }: { readonly format: string; readonly output: string | undefined },
  why: () => Promise<string | null>,
): Promise<void> {
  const watch = new RowWatch(format);
  rows.once('error', (error) => watch.destroy(error));
  await putRows(rows.pipe(watch), output);
  rows.destroy();
  const reason = watch.readableEnded && (await watch.isEmpty()) ? await why() : null;
  if (reason !== null) process.stderr.write(`no rows: ${reason}\n`);
}

/** Writes rows to a file, and says how many bytes they are, or to standard output. */
export async function putRows(rows: Readable, output: string | undefined): Promise<void> {
  if (output === undefined) await printRows(rows);
  else process.stderr.write(`${output}: ${formatBytes(await save(rows, output))}\n`);
}

async function printRows(rows: Readable): Promise<void> {
  for await (const piece of rows) {
    const failure = await new Promise<NodeJS.ErrnoException | null | undefined>((written) =>
      process.stdout.write(piece, written),
    );
    // Whoever reads no further has what it wanted.
    if (failure?.code === 'EPIPE' || process.stdout.destroyed) return;
    if (failure) throw outputFailure(failure);
  }
}

export const outputFailure = (error: unknown): ProductError =>
  new ProductError('output_unwritable', `standard output cannot be written: ${reasonOf(error)}`);

/** Mode of a new file, less what the user's umask takes away. */
const FILE_MODE = 0o666;

/** The file is there whole or, when anything fails, as it was before. */
async function save(rows: Readable, output: string): Promise<number> {
  const part = `${output}.part`;
  try {
    // What this process creates is its user's only; a file that is asked for by name is as the user creates files.
    await writeFile(part, '');
    await chmod(part, FILE_MODE & ~userUmask);
    const file = createWriteStream(part);
    await pipeline(rows, file);
    await rename(part, output);
    return file.bytesWritten;
  } catch (error) {
    rows.destroy();
    // The error below says why; a part that is left is replaced by the next attempt.
    await rm(part, { force: true }).catch(ignore('output.part'));
    throw new ProductError('usage', `${output} cannot be written: ${reasonOf(error)}`);
  }
}
