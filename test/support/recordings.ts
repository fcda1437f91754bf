import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { InputLine } from '../reference/input.ts';
import { folderOf } from './fixtures.ts';

const ENDING = '.ndjson.gz';

/** All lines of a folder of recordings in reading order; a file is named after its chain. */
export function recordedLines(folder: 'blocks' | 'runtime'): InputLine[] {
  const files = readdirSync(folderOf(folder)).filter((file) => file.endsWith(ENDING));
  return files.sort().flatMap((file) => {
    const text = gunzipSync(readFileSync(new URL(file, folderOf(folder)))).toString('utf8');
    const chain = file.slice(0, -ENDING.length);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ line, chain }));
  });
}
