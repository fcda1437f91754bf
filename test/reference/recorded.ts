import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { folderOf } from '../support/fixtures.ts';

/** The line of a recorded block in the compressed fixtures. */
export function recordedBlock(folder: 'blocks' | 'runtime', chain: string, number: number): string {
  const file = new URL(`${chain}.ndjson.gz`, folderOf(folder));
  const lines = gunzipSync(readFileSync(file)).toString().split('\n').filter(Boolean);
  const line = lines.find((text) => Number(JSON.parse(text).number) === number);
  if (!line) throw new Error(`no block ${number} in ${file}`);
  return line;
}
