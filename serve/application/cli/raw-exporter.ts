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

/** Tables that are read from the store while others are written. */
const TABLES_AT_ONCE = 2;

export interface RawExportOptions {
  readonly client: OperationClient;
  readonly target: ExportTarget;
  /** Names of raw tables. */
  readonly tables: readonly string[];
  /** Names or aliases of chains; all when empty. */
  readonly chains: readonly string[];
  /** Both days are inclusive. */
  readonly days: { readonly from?: string; readonly until?: string };
  readonly onProgress: (progress: RawExportProgress) => void;
}

export interface RawExportReport {
  readonly tables: Readonly<Record<string, TableReport>>;
  /** Rows and bytes of what was written. */
  readonly rows: number;
  readonly bytes: number;
}
/** Counts of files. */
interface TableReport {
  written: number;
  unchanged: number;
  /** Days whose rows have all gone since. */
  removed: number;
}

interface RawExportProgress {
  readonly chain: string;
  readonly date: string;
  /** Days of tables, with and without rows. */
  readonly done: number;
  readonly total: number;
  readonly bytes: number;
}

/** A table of one chain and day, as the store says that it has changed. */
interface DuePartition extends RawPartition {
  readonly table: RawTable;
  readonly changed: string;
  readonly loaded: string;
}

/** Writes every partition that is missing in a target, or has changed since it was written there. */
export async function exportRaw(options: RawExportOptions): Promise<RawExportReport> {
  const { target, tables, onProgress } = options;
  const months = await readMonths(options);
  const total = months.reduce((sum, month) => sum + month.length, 0);
  const reports = Object.fromEntries(
    tables.map((name): [string, TableReport] => [name, { written: 0, unchanged: 0, removed: 0 }]),
  );
  let [done, rows, bytes] = [0, 0, 0];
  let tags: { readonly chain: string; readonly of: ReadonlyMap<string, string> } | undefined;
  for (const month of months) {
    const [{ relay_chain, chain, date }] = month as [DuePartition];
    if (tags?.chain !== chain) tags = { chain, of: await tagsOf(target, tables, chain) };
    const present = tags.of;
    const manifest = await Manifest.read(target, { relay_chain, chain, month: date.slice(0, 7) });
    const noting = new Mutex();
    const told = ({ date }: RawPartition) => onProgress({ chain, date, done: ++done, total, bytes });
    await mapConcurrently(
      Map.groupBy(month, ({ table }) => table.name),
      async ([name, dues]) => {
        const report = reports[name] as TableReport;
        const late: DuePartition[] = [];
        for (const due of dues) {
          const before = manifest.find(name, due.date);
          if (before === undefined || !isCurrent(before, due, present)) {
            late.push(due);
            continue;
          }
          if (before.file !== null) report.unchanged++;
          told(due);
        }
        for await (const written of writeAll(options, late)) {
          for (const { file, date } of written) {
            rows += file?.rows ?? 0;
            bytes += file?.bytes ?? 0;
            if (file !== null) report.written++;
            else if (manifest.find(name, date)?.file != null) report.removed++;
            told({ relay_chain, chain, date });
          }
          await noting.run(() => manifest.add(written));
        }
      },
      TABLES_AT_ONCE,
    );
  }
  return { tables: reports, rows, bytes };
}

/** The partitions that the store has, by chain and month. Those that may lack rows stay as they were written before. */
async function readMonths({ client, tables, chains, days }: RawExportOptions): Promise<DuePartition[][]> {
  const places = await client.call('rawChains', { chains: [...chains], ...days });
  const months: DuePartition[][] = [];
  for (const place of places) {
    const { loaded, deletable, days: changed } = await client.call('rawDays', { ...place, ...days });
    const mayLack = (table: string, date: string) => date < deletable && isDeletable(table);
    const due = [...Map.groupBy(changed, ({ date }) => date)].flatMap(([date, streams]) =>
      tables.flatMap((name): DuePartition[] => {
        const table = rawData.get(name) as RawTable;
        const newest = newestOf(streams.filter(({ stream }) => table.streams.includes(stream)));
        return newest === null || mayLack(name, date)
          ? []
          : [{ ...place, date, table, changed: newest, loaded }];
      }),
    );
    months.push(...Map.groupBy(due, ({ date }) => date.slice(0, 7)).values());
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

/** Whether what was written is still there, and holds every change. */
function isCurrent(
  { file, changed, loaded, layout }: WrittenPartition,
  due: DuePartition,
  tags: ReadonlyMap<string, string>,
): boolean {
  const isThere = file === null || tags.get(file.path) === file.tag;
  const isWhole = BigInt(changed) <= BigInt(loaded);
  return isThere && isWhole && changed === due.changed && layout === layoutOf(due.table);
}

/**
 * Writes the partitions of a table and month, those together that the store answers together: small days cost less then.
 * What comes of them is whole.
 */
async function* writeAll(
  { client, target }: RawExportOptions,
  dues: readonly DuePartition[],
): AsyncGenerator<WrittenPartition[]> {
  let left = dues;
  for (let asked = left.length; left.length > 0; ) {
    const [{ table, relay_chain, chain }] = left as [DuePartition];
    const dates = left.slice(0, asked).map(({ date }) => date);
    const files = await client.call('rawRows', { table: table.name, relay_chain, chain, dates });
    const written: WrittenPartition[] = [];
    for await (const { name, bytes } of unpackFiles(files)) {
      const due = left[written.length];
      if (due?.date !== name) throw new Error(`the server sent ${name}, and ${due?.date} is next`);
      written.push(await write(target, due, bytes));
    }
    yield written;
    left = left.slice(written.length);
    // Where days are large, those that have to wait are not counted again with each of them.
    asked = 2 * written.length;
  }
}

async function write(target: ExportTarget, due: DuePartition, content: Readable): Promise<WrittenPartition> {
  const { table, date, changed, loaded } = due;
  const path = pathOf(table.name, due);
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

/** Null where there is not a byte. */
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
