import type { FinishedFile } from './finished-file.ts';

/** The destination of an export. Paths are relative and use `/`. Files appear atomically. */
export interface ExportTarget {
  /** For messages; contains no secrets. */
  readonly location: string;
  /** Tags of the files below a folder, by path. A changed file has another tag. */
  tags(folder: string): Promise<ReadonlyMap<string, string>>;
  /** Returns null if the file does not exist. */
  read(path: string): Promise<Buffer | null>;
  write(path: string, content: string): Promise<void>;
  /** A local path for an unfinished file. */
  temporaryFile(): string;
  /** Moves a finished file to `path`, replacing any file there, and returns its tag. */
  put(file: FinishedFile, path: string): Promise<string>;
  remove(path: string): Promise<void>;
  /** Deletes unfinished files. */
  close(): Promise<void>;
}
