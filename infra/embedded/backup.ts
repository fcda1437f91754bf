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

/** The form of a backup: a manifest, a list of checksums, and a data directory. */
const FORMAT = 1;
const MANIFEST = 'manifest.json';
/** As `sha256sum` writes and reads it. */
const SUMS = 'files.sha256';
const DATA = 'data';
const FILES_AT_ONCE = 8;
const MANIFEST_BYTES_MAX = 64 * 1024;
const SUMS_BYTES_MAX = 512 * 2 ** 20;

/** What a backup says of itself. */
const manifestShape = z.object({
  format: z.literal(FORMAT),
  /** What was accepted until then is in it. */
  taken_at: z.iso.datetime(),
  product_version: z.string(),
  schema_version: z.int(),
  engine_version: z.string(),
  /** Whether the key that encrypts secrets is in it, or was a setting, or there was none yet. */
  secrets_key: z.enum(['included', 'setting', 'none']),
  /** Faults of the data that were known. */
  damage: z.int(),
  /** For so long nothing was written. */
  held_ms: z.number(),
  files: z.int(),
  bytes: z.int(),
  /** Of the list of checksums. */
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

/** Codes of a place that cannot be written; what cannot be read has others. */
const OF_PLACE: ReadonlySet<string> = new Set([
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
  /** Whether the files are forced to the disk; not where they are packed and deleted next. */
  readonly isForced: boolean;
}

/**
 * Writes frozen files into a directory, which is a backup when its manifest is there: that is written last, when the rest
 * is on the disk.
 */
export async function writeBackup(
  directory: string,
  frozen: FrozenDirectory,
  facts: BackupFacts,
  { onProgress, signal, isForced }: WriteOptions,
): Promise<BackupManifest> {
  // The place of the backup is at fault then, and not the data directory, which may have room.
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
    // Part of a backup is none, and would keep the next one out of the directory.
    for (const name of [DATA, SUMS]) await rm(join(directory, name), { recursive: true, force: true });
    if (error instanceof ProductError || signal.aborted) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    throw OF_PLACE.has(code) ? unwritten(error) : unreadable(error);
  }
}

/** The directories that hold frozen files, and those that hold them, up to the one of the backup. */
function directoriesOf(directory: string, { files }: FrozenDirectory): string[] {
  const all = new Set([directory]);
  for (const { to } of files) {
    for (let path = dirname(join(DATA, to)); path !== '.'; path = dirname(path))
      all.add(join(directory, path));
  }
  return [...all];
}

/** Throws `usage` unless a directory is empty or not there, and makes it. */
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

/** Reads what a backup says of itself, and checks each of its files. Throws `store_failed` at the first that is not as it was written. */
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

/** A path outside of the data of the backup would be written anywhere. */
function readSum(line: string): [path: string, sum: string] {
  const [, sum = '', path = ''] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
  if (normalize(path) !== path || !path.startsWith(`${DATA}/`)) throw damaged(SUMS);
  return [path, sum];
}

async function copyFile(from: string, to: string, isForced = false): Promise<string> {
  makeDirectory(dirname(to), OWNER_ONLY);
  return sumOf(from, to, isForced);
}

/** The checksum of a file, which is copied on the way where that is wanted. */
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

/** The bytes of a file that is small; null of any other. Streams cost more than the bytes of thousands of small parts. */
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
