import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { InputLine } from '../reference/input.ts';

const FIXTURES = new URL('../fixtures/', import.meta.url);
const ENDING = '.ndjson.gz';

/** All lines of a folder of recordings in reading order; a file is named after its chain. */
export function recordedLines(folder: 'blocks' | 'runtime'): InputLine[] {
  const files = readdirSync(new URL(folder, FIXTURES)).filter((file) => file.endsWith(ENDING));
  return files.sort().flatMap((file) => {
    const text = gunzipSync(readFileSync(new URL(`${folder}/${file}`, FIXTURES))).toString('utf8');
    const chain = file.slice(0, -ENDING.length);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ line, chain }));
  });
}
