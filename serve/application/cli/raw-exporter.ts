import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { Mutex } from '../../../infra/coordination/lock.ts';
import { mapConcurrently } from '../../../infra/coordination/map-concurrently.ts';
import { type RawTable, rawData } from '../../../ingest/raw/raw-data.ts';
import { isDeletable } from '../../../ingest/raw/retention.ts';
import { type FinishedFile, saveFile } from '../../raw-export/finished-file.ts';
import { Manifest, type WrittenPartition } from '../../raw-export/manifest.ts';
import { folderOf, layoutOf, pathOf, type RawPartition } from '../../raw-export/partition.ts';
import type { ExportTarget } from '../../raw-export/target.ts';
import type { OperationClient } from '../operations/client.ts';
import { unpackFiles } from '../operations/files-body.ts';
import type { ChangedDay } from '../operations/raw.ts';

/** One table is read from the store while another is written. */
const TABLES_AT_ONCE = 2;

export interface RawExportOptions {
  readonly client: OperationClient;
  readonly target: ExportTarget;
  /** Names of raw tables. */
  readonly tables: readonly string[];
  /** Names or aliases of chains; all if empty. */
  readonly chains: readonly string[];
  /** Both days are inclusive. */
  readonly days: { readonly from?: string; readonly until?: string };
  readonly onProgress: (progress: RawExportProgress) => void;
}

export interface RawExportReport {
  readonly tables: Readonly<Record<string, TableReport>>;
  /** Rows and bytes that were written. */
  readonly rows: number;
  readonly bytes: number;
}
/** Numbers of files. */
interface TableReport {
  written: number;
  unchanged: number;
  /** Files that were removed, because their days have no rows any more. */
  removed: number;
}

interface RawExportProgress {
  readonly chain: string;
  readonly date: string;
  /** Days of tables that are done, with and without rows. */
  readonly done: number;
  readonly total: number;
  readonly bytes: number;
}

/** A table of one chain and day, with its newest change in the store. */
interface StoredPartition extends RawPartition {
  readonly table: RawTable;
  readonly changed: string;
  readonly loaded: string;
}

/** Writes every partition that the target lacks, or that has changed since it was written. */
export async function exportRaw(options: RawExportOptions): Promise<RawExportReport> {
  const { target, tables, onProgress } = options;
  const months = await readMonths(options);
  const total = months.reduce((sum, month) => sum + month.length, 0);
  const reports = Object.fromEntries(
    tables.map((name): [string, TableReport] => [name, { written: 0, unchanged: 0, removed: 0 }]),
  );
  let [done, rows, bytes] = [0, 0, 0];
  let tags: { readonly chain: string; readonly byPath: ReadonlyMap<string, string> } | undefined;
  for (const month of months) {
    const [{ relay_chain, chain, date }] = month as [StoredPartition];
    if (tags?.chain !== chain) tags = { chain, byPath: await tagsOf(target, tables, chain) };
    const present = tags.byPath;
    const manifest = await Manifest.read(target, { relay_chain, chain, month: date.slice(0, 7) });
    const manifestLock = new Mutex();
    const report = ({ date }: RawPartition) => onProgress({ chain, date, done: ++done, total, bytes });
    await mapConcurrently(
      Map.groupBy(month, ({ table }) => table.name),
      async ([name, partitions]) => {
        const table = reports[name] as TableReport;
        const outdated: StoredPartition[] = [];
        for (const partition of partitions) {
          const before = manifest.find(name, partition.date);
          if (before === undefined || !isCurrent(before, partition, present)) {
            outdated.push(partition);
            continue;
          }
          if (before.file !== null) table.unchanged++;
          report(partition);
        }
        for await (const written of writeAll(options, outdated)) {
          for (const { file, date } of written) {
            rows += file?.rows ?? 0;
            bytes += file?.bytes ?? 0;
            if (file !== null) table.written++;
            else if (manifest.find(name, date)?.file != null) table.removed++;
            report({ relay_chain, chain, date });
          }
          await manifestLock.run(() => manifest.add(written));
        }
      },
      TABLES_AT_ONCE,
    );
  }
  return { tables: reports, rows, bytes };
}

/** The partitions of the store by chain and month. Omits partitions that may have lost rows to retention, so their files stay. */
async function readMonths({ client, tables, chains, days }: RawExportOptions): Promise<StoredPartition[][]> {
  const places = await client.call('rawChains', { chains: [...chains], ...days });
  const months: StoredPartition[][] = [];
  for (const place of places) {
    const { loaded, deletable, days: changed } = await client.call('rawDays', { ...place, ...days });
    const mayLack = (table: string, date: string) => date < deletable && isDeletable(table);
    const partitions = [...Map.groupBy(changed, ({ date }) => date)].flatMap(([date, streams]) =>
      tables.flatMap((name): StoredPartition[] => {
        const table = rawData.get(name) as RawTable;
        const newest = newestOf(streams.filter(({ stream }) => table.streams.includes(stream)));
        return newest === null || mayLack(name, date)
          ? []
          : [{ ...place, date, table, changed: newest, loaded }];
      }),
    );
    months.push(...Map.groupBy(partitions, ({ date }) => date.slice(0, 7)).values());
  }
  return months;
}

const newestOf = (days: readonly ChangedDay[]): string | null =>
  days.reduce<string | null>(
    (newest, { changed }) => (newest === null || BigInt(changed) > BigInt(newest) ? changed : newest),
    null,
  );

async function tagsOf(
  target: ExportTarget,
  tables: readonly string[],
  chain: string,
): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(tables.map((table) => target.tags(folderOf(table, chain))));
  return new Map(found.flatMap((tags) => [...tags]));
}

/** Whether the written file still exists and contains every change. */
function isCurrent(
  { file, changed, loaded, layout }: WrittenPartition,
  stored: StoredPartition,
  tags: ReadonlyMap<string, string>,
): boolean {
  const exists = file === null || tags.get(file.path) === file.tag;
  const isComplete = BigInt(changed) <= BigInt(loaded);
  return exists && isComplete && changed === stored.changed && layout === layoutOf(stored.table);
}

/** Writes the partitions of a table and month. The server decides how many days one answer contains. */
async function* writeAll(
  { client, target }: RawExportOptions,
  partitions: readonly StoredPartition[],
): AsyncGenerator<WrittenPartition[]> {
  let remaining = partitions;
  for (let requested = remaining.length; remaining.length > 0; ) {
    const [{ table, relay_chain, chain }] = remaining as [StoredPartition];
    const dates = remaining.slice(0, requested).map(({ date }) => date);
    const files = await client.call('rawRows', { table: table.name, relay_chain, chain, dates });
    const written: WrittenPartition[] = [];
    for await (const { name, bytes } of unpackFiles(files)) {
      const partition = remaining[written.length];
      if (partition?.date !== name)
        throw new Error(`the server sent the day ${name} instead of ${partition?.date}`);
      written.push(await write(target, partition, bytes));
    }
    yield written;
    remaining = remaining.slice(written.length);
    // The server counts the rows of all requested days, so request few if days are large.
    requested = 2 * written.length;
  }
}

async function write(
  target: ExportTarget,
  partition: StoredPartition,
  content: Readable,
): Promise<WrittenPartition> {
  const { table, date, changed, loaded } = partition;
  const path = pathOf(table.name, partition);
  const saved = await save(content, target.temporaryFile());
  const written = { table: table.name, date, changed, loaded, layout: layoutOf(table) };
  if (saved === null || saved.rows === 0) {
    await target.remove(path);
    if (saved) await rm(saved.path);
    return { ...written, file: null };
  }
  const { rows, bytes, sha256 } = saved;
  const tag = await target.put(saved, path);
  return { ...written, file: { path, rows, bytes, sha256, tag } };
}

/** Saves the rows in a temporary file. Null if the file is empty: the day has no rows. */
async function save(rows: Readable, path: string): Promise<(FinishedFile & { rows: number }) | null> {
  const file = await saveFile(rows, path);
  try {
    if (file.bytes === 0) {
      await rm(path);
      return null;
    }
    const { num_rows } = await parquetMetadataAsync(await asyncBufferFromFile(path));
    return { ...file, rows: Number(num_rows) };
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
