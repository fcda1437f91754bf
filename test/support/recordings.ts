import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { InputLine } from '../reference/input.ts';
import { folderOf } from './fixtures.ts';

const ENDING = '.ndjson.gz';
/** The runtimes ran on networks of their own, of which the parent of block 1 tells. */
const OF_ANOTHER_GENESIS = /^\{"number":"1",.*"parentHash":"0x(45){32}"/;

/** All lines of a folder of recordings in reading order; a file is named after its chain. */
export function recordedLines(folder: 'blocks' | 'runtime'): InputLine[] {
  const files = readdirSync(folderOf(folder)).filter((file) => file.endsWith(ENDING));
  return files.sort().flatMap((file) => {
    const text = gunzipSync(readFileSync(new URL(file, folderOf(folder)))).toString('utf8');
    const chain = file.slice(0, -ENDING.length);
    return text
      .split('\n')
      .filter((line) => line !== '' && !OF_ANOTHER_GENESIS.test(line))
      .map((line) => ({ line, chain }));
  });
}

const NOW = /"now":\s*"?\d{13}"?/;

/** Whether a recorded block tells its time. */
export const isTimed = (line: string): boolean => NOW.test(line);

/** A recorded block at another height and time, `time` in milliseconds; `hash` gives those of a height and of its parent. */
export const recordedBlockAt = (
  line: string,
  { height, time, hash }: { height: number; time: number; hash: (height: number) => string },
): string =>
  line
    .replace(/^\{"number":"?\d+"?/, `{"number":"${height}"`)
    .replace(/"hash":"0x[0-9a-f]{64}"/i, `"hash":"${hash(height)}"`)
    .replace(/"parentHash":"0x[0-9a-f]{64}"/i, `"parentHash":"${hash(height - 1)}"`)
    .replace(NOW, `"now":"${time}"`);
