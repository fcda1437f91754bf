import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { mapConcurrently } from '../coordination/map-concurrently.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { makeDirectory } from '../make-directory.ts';
import type { FrozenDirectory } from '../ports.ts';
import { fsyncDirectoryIfPossible } from './fsync.ts';

/** Version of the backup format: a manifest, a list of checksums, and a data directory. */
const FORMAT = 1;
const MANIFEST = 'manifest.json';
/** The list of checksums, in the format of `sha256sum`. */
const SUMS = 'files.sha256';
const DATA = 'data';
const FILES_AT_ONCE = 8;
const MANIFEST_BYTES_MAX = 64 * 1024;
const SUMS_BYTES_MAX = 512 * 2 ** 20;

const manifestShape = z.object({
  format: z.literal(FORMAT),
  /** The backup contains everything that was accepted up to this time. */
  taken_at: z.iso.datetime(),
  product_version: z.string(),
  schema_version: z.int(),
  engine_version: z.string(),
  /** Location of the key that encrypts secrets: in the backup, in a setting, or not created yet. */
  secrets_key: z.enum(['included', 'setting', 'none']),
  /** Number of known faults of the stored data. */
  damage: z.int(),
  /** How long writes were blocked. */
  held_ms: z.number(),
  files: z.int(),
  bytes: z.int(),
  /** Checksum of the list of checksums. */
  sums_sha256: z.string(),
});
export type BackupManifest = z.output<typeof manifestShape>;
type BackupFacts = Pick<
  BackupManifest,
  'product_version' | 'schema_version' | 'engine_version' | 'secrets_key' | 'damage'
>;

export interface CopyProgress {
  readonly done: number;
  readonly total: number;
}
type OnProgress = (progress: CopyProgress) => void;

/** Error codes of a target that cannot be written. Any other code means that the data directory cannot be read. */
const TARGET_ERRORS: ReadonlySet<string> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EACCES',
  'EPERM',
  'ENAMETOOLONG',
  'ENOTDIR',
]);
const unreadable = (error: unknown) =>
  new ProductError('store_failed', `the data directory cannot be read: ${reasonOf(error)}`, reasonOf(error));

const OWNER_ONLY = 0o700;
const COPY_MODE = 0o600;
const SMALL_BYTES_MAX = 2 ** 20;

interface WriteOptions {
  readonly onProgress: OnProgress;
  readonly signal: AbortSignal;
  /** Whether to fsync the files; false if they are packed and deleted next. */
  readonly isForced: boolean;
}

/**
 * Writes frozen files into a directory. The manifest is written last, after everything else is on the disk: a directory
 * without it is not a backup.
 */
export async function writeBackup(
  directory: string,
  frozen: FrozenDirectory,
  facts: BackupFacts,
  { onProgress, signal, isForced }: WriteOptions,
): Promise<BackupManifest> {
  const unwritten = (error: unknown) =>
    new ProductError(
      'output_unwritable',
      `${directory} cannot be written: ${reasonOf(error)}; free space, or choose another place for the backup`,
    );
  try {
    makeDirectory(directory, OWNER_ONLY);
  } catch (error) {
    throw unwritten(error);
  }
  await requireEmpty(directory, 'a backup needs an empty directory');
  try {
    const total = frozen.files.reduce((sum, { bytes }) => sum + bytes, 0);
    let done = 0;
    const lines = await mapConcurrently(
      frozen.files,
      async ({ from, to, bytes }) => {
        signal.throwIfAborted();
        const sum = await copyFile(from, join(directory, DATA, to), isForced);
        done += bytes;
        onProgress({ done, total });
        return `${sum}  ${DATA}/${to}\n`;
      },
      FILES_AT_ONCE,
    );
    const sums = lines.sort().join('');
    await writeFile(join(directory, SUMS), sums, { flush: true });
    if (isForced)
      await mapConcurrently(directoriesOf(directory, frozen), fsyncDirectoryIfPossible, FILES_AT_ONCE);
    const manifest: BackupManifest = {
      format: FORMAT,
      taken_at: frozen.takenAt.toISOString(),
      ...facts,
      held_ms: Math.round(frozen.heldMs),
      files: frozen.files.length,
      bytes: total,
      sums_sha256: createHash('sha256').update(sums).digest('hex'),
    };
    await writeFile(join(directory, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
    if (isForced)
      await mapConcurrently([directory, dirname(directory)], fsyncDirectoryIfPossible, FILES_AT_ONCE);
    return manifest;
  } catch (error) {
    // An incomplete backup is useless, and would block the next one.
    for (const name of [DATA, SUMS]) await rm(join(directory, name), { recursive: true, force: true });
    if (error instanceof ProductError || signal.aborted) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    throw TARGET_ERRORS.has(code) ? unwritten(error) : unreadable(error);
  }
}

/** The directories of the frozen files and all their parents, up to the directory of the backup. */
function directoriesOf(directory: string, { files }: FrozenDirectory): string[] {
  const all = new Set([directory]);
  for (const { to } of files) {
    for (let path = dirname(join(DATA, to)); path !== '.'; path = dirname(path))
      all.add(join(directory, path));
  }
  return [...all];
}

/** Creates a directory; throws `usage` if it exists and is not empty. */
export async function requireEmpty(
  directory: string,
  why: string,
  besides: readonly string[] = ['lost+found'],
): Promise<void> {
  try {
    makeDirectory(directory, OWNER_ONLY);
  } catch (error) {
    throw new ProductError('store_unwritable', `${directory} cannot be created: ${reasonOf(error)}`);
  }
  const [other] = (await readdir(directory)).filter((name) => !besides.includes(name));
  if (other !== undefined) throw new ProductError('usage', `${directory} holds ${other}: ${why}`);
}

interface OpenedBackup {
  readonly manifest: BackupManifest;
  /** Checksums by the paths of files in the backup. */
  readonly sums: ReadonlyMap<string, string>;
}

/** Reads the manifest and verifies every checksum. Throws `store_failed` for the first file that does not match. */
export async function checkBackup(directory: string, onProgress: OnProgress): Promise<OpenedBackup> {
  const manifest = await readManifest(directory);
  const text = await readBounded(join(directory, SUMS), SUMS_BYTES_MAX);
  if (createHash('sha256').update(text).digest('hex') !== manifest.sums_sha256) throw damaged(SUMS);
  const sums = new Map(text.split('\n').filter(Boolean).map(readSum));
  let done = 0;
  await mapConcurrently(
    sums,
    async ([path, sum]) => {
      const found = await sumOf(join(directory, path)).catch(() => null);
      if (found !== sum) throw damaged(path);
      onProgress({ done: ++done, total: sums.size });
    },
    FILES_AT_ONCE,
  );
  return { manifest, sums };
}

export async function readManifest(directory: string): Promise<BackupManifest> {
  const text = await readBounded(join(directory, MANIFEST), MANIFEST_BYTES_MAX).catch(() => {
    throw new ProductError('usage', `${directory} is not a complete backup: ${MANIFEST} is missing`);
  });
  try {
    return manifestShape.parse(JSON.parse(text));
  } catch {
    throw new ProductError(
      'store_failed',
      `this version cannot read ${MANIFEST}: another version wrote it, or it is damaged`,
    );
  }
}

/** Copies the files of a checked backup to a directory. */
export async function copyBackup(
  directory: string,
  { sums }: OpenedBackup,
  to: string,
  onProgress: OnProgress,
): Promise<void> {
  let done = 0;
  await mapConcurrently(
    sums,
    async ([path, sum]) => {
      const found = await copyFile(join(directory, path), join(to, path.slice(DATA.length + 1)));
      if (found !== sum) throw damaged(path);
      onProgress({ done: ++done, total: sums.size });
    },
    FILES_AT_ONCE,
  );
}

/** Parses a line of the list. Refuses paths outside of the data, which could overwrite any file. */
function readSum(line: string): [path: string, sum: string] {
  const [, sum = '', path = ''] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
  if (normalize(path) !== path || !path.startsWith(`${DATA}/`)) throw damaged(SUMS);
  return [path, sum];
}

async function copyFile(from: string, to: string, isForced = false): Promise<string> {
  makeDirectory(dirname(to), OWNER_ONLY);
  return sumOf(from, to, isForced);
}

/** The checksum of a file. Copies it in the same pass if `to` is set. */
async function sumOf(from: string, to?: string, flush = false): Promise<string> {
  const small = await readSmall(from);
  if (small !== null) {
    if (to !== undefined) await writeFile(to, small, { mode: COPY_MODE, flush });
    return createHash('sha256').update(small).digest('hex');
  }
  const hash = createHash('sha256');
  const seen = new Transform({
    transform: (piece, _encoding, done) => {
      hash.update(piece);
      done(null, to === undefined ? undefined : piece);
    },
  });
  const source = createReadStream(from, { highWaterMark: 2 ** 20 });
  if (to === undefined) await pipeline(source, seen.resume());
  else await pipeline(source, seen, createWriteStream(to, { mode: COPY_MODE, flush }));
  return hash.digest('hex');
}

/** Reads a small file whole, since a stream for each of thousands of small parts would cost more. Null for a larger file. */
async function readSmall(path: string): Promise<Buffer | null> {
  await using file = await open(path);
  const { size } = await file.stat();
  return size > SMALL_BYTES_MAX ? null : file.readFile();
}

async function readBounded(path: string, bytesMax: number): Promise<string> {
  if ((await stat(path)).size > bytesMax) throw damaged(path);
  return readFile(path, 'utf8');
}

const damaged = (path: string) =>
  new ProductError(
    'store_failed',
    `the backup is damaged: ${path} does not match its checksum; nothing was restored`,
  );
