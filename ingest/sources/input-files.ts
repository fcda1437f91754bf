import { constants, createReadStream, type Stats } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { ProductError, reasonOf } from '../../infra/errors.ts';

/** Something to read: a file, a download, or standard input. */
export interface Input {
  readonly name: string;
  /** Size in bytes before decompression; null if unknown. */
  readonly size: number | null;
  readonly open: () => Readable & { readonly bytesRead: number };
}

const UNSUPPORTED = /\.(zip|7z|rar|xz|bz2|lz4|br|tar|tgz|tar\.(gz|zst))$/i;

const INPUT_FILE = /\.(ndjson|jsonl|json)(\.gz|\.zst)?$|\.parquet$/;

/** A file, or all input files of a directory sorted by name. */
export async function inputsAt(path: string): Promise<Input[]> {
  const found = await statInput(path);
  if (!found.isDirectory()) return [await fileInput(path, found)];
  const names = await readdir(path, { recursive: true }).catch((error) => {
    throw new ProductError('input_unreadable', `${path} cannot be read: ${reasonOf(error)}`);
  });
  const inputs: Input[] = [];
  for (const name of names.filter((name) => INPUT_FILE.test(name)).sort()) {
    const file = join(path, name);
    const facts = await statInput(file);
    if (facts.isFile()) inputs.push(await fileInput(file, facts));
  }
  if (inputs.length === 0) {
    throw new ProductError(
      'input_missing',
      `${path} contains no input files: expected .ndjson, .jsonl or .json, each optionally with .gz or .zst, or .parquet`,
    );
  }
  return inputs;
}

async function statInput(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new ProductError(
      isMissing ? 'input_missing' : 'input_unreadable',
      isMissing ? `${path} does not exist` : `${path} cannot be read: ${reasonOf(error)}`,
    );
  }
}

/** Allocating 1 MiB for each of many small files would cost more than reading them. */
const readBytes = (facts: Stats) =>
  facts.isFile() ? Math.min(2 ** 20, Math.max(2 ** 12, facts.size + 1)) : 2 ** 20;

async function fileInput(path: string, facts: Stats): Promise<Input> {
  if (UNSUPPORTED.test(path)) {
    throw new ProductError(
      'usage',
      `${path} is in an unsupported archive format: unpack it, or compress it with gzip or zstd`,
    );
  }
  await access(path, constants.R_OK).catch(() => {
    throw new ProductError('input_unreadable', `this user has no permission to read ${path}`);
  });
  return {
    name: path,
    size: facts.isFile() ? facts.size : null,
    open: () => createReadStream(path, { highWaterMark: readBytes(facts) }),
  };
}
