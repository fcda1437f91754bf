import type { FinishedFile } from './finished-file.ts';

/** Where an export is written. Paths are relative, with `/`; what is there under one is whole. */
export interface ExportTarget {
  /** For people: without anything secret. */
  readonly location: string;
  /** What is stored below a folder, by path, with a tag that another content would not have. */
  tags(folder: string): Promise<ReadonlyMap<string, string>>;
  /** Null when there is nothing under the path. */
  read(path: string): Promise<Buffer | null>;
  write(path: string, content: string): Promise<void>;
  /** A path for a file that is not finished, on the disk of this process. */
  temporaryFile(): string;
  /** Moves a finished file to its place, in the stead of what is there, and returns its tag. */
  put(file: FinishedFile, path: string): Promise<string>;
  remove(path: string): Promise<void>;
  /** Removes what is not finished. */
  close(): Promise<void>;
}
