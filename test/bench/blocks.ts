import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { recordedLines } from '../support/recordings.ts';

/** A file of bare blocks of one chain. */
export interface BlockFile {
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
  readonly blocks: number;
}

/** A recorded block behind its head, cut open at what tells it from its copies. */
interface Template {
  /** What is before and behind the time, each cut open at the hashes of its extrinsics. */
  readonly parts: readonly (readonly string[])[];
}

const FIRST_HEIGHT = 10_000_000;
const FIRST_TIME = Date.UTC(2024, 0, 1);
const BLOCK_TIME = 6000;
const HEAD = /^\{"number":"?\d+"?,"hash":"0x[0-9a-f]{64}","parentHash":"0x[0-9a-f]{64}",/i;
const NOW = /"now":\s*"?\d{13}"?/;
const EXTRINSIC_HASH = /"hash":"0x[0-9a-f]{64}","info"/;

/**
 * One file per recorded chain, made by repeating its blocks until all files together hold `megabytes`. Every copy
 * has a height, hashes and a time of its own and names the copy before it as its parent: a chain without gaps.
 */
export async function writeBlockFiles(directory: string, megabytes: number): Promise<BlockFile[]> {
  const chains = recordedChains();
  const recordedBytes = [...chains.values()].flat().reduce((sum, { line }) => sum + line.length, 0);
  const rounds = Math.max(1, Math.ceil((megabytes * 1e6) / recordedBytes));
  const files: BlockFile[] = [];
  for (const [chain, lines] of chains) {
    const templates = lines.flatMap(({ line }) => templateOf(line));
    if (templates.length > 0)
      files.push(await writeChain(join(directory, `${chain}.ndjson`), templates, rounds));
  }
  return files;
}

/** The same for one chain. */
export function writeBlockFile(path: string, chain: string, megabytes: number): Promise<BlockFile> {
  const lines = recordedChains().get(chain) ?? [];
  const recordedBytes = lines.reduce((sum, { line }) => sum + line.length, 0);
  return writeChain(
    path,
    lines.flatMap(({ line }) => templateOf(line)),
    Math.ceil((megabytes * 1e6) / recordedBytes),
  );
}

const recordedChains = () =>
  Map.groupBy([...recordedLines('blocks'), ...recordedLines('runtime')], ({ chain }) => chain ?? '');

function templateOf(line: string): Template[] {
  const head = HEAD.exec(line);
  const now = NOW.exec(line);
  if (!head || !now) return [];
  const parts = [line.slice(head[0].length, now.index), line.slice(now.index + now[0].length)];
  return [{ parts: parts.map((part) => part.split(EXTRINSIC_HASH)) }];
}

async function writeChain(path: string, templates: readonly Template[], rounds: number): Promise<BlockFile> {
  const file = createWriteStream(path);
  let bytes = 0;
  let made = 0;
  for (let round = 0; round < rounds; round++) {
    const text = templates.map((template) => copyOf(template, made++)).join('');
    bytes += Buffer.byteLength(text);
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'finish');
  return { path, name: path.slice(path.lastIndexOf('/') + 1), bytes, blocks: made };
}

function copyOf({ parts }: Template, index: number): string {
  const height = FIRST_HEIGHT + index;
  const time = FIRST_TIME + index * BLOCK_TIME;
  let extrinsic = 0;
  const [before, after] = parts.map(([first = '', ...others]) =>
    others.reduce(
      (text, next) => `${text}"hash":"${hashOf(`${height}-${extrinsic++}`)}","info"${next}`,
      first,
    ),
  );
  return `{"number":"${height}","hash":"${hashOf(height)}","parentHash":"${hashOf(height - 1)}",${before}"now":"${time}"${after}\n`;
}

/** Digits like those of a real one: they do not pack. */
const hashOf = (of: number | string) => `0x${hash('sha256', String(of))}`;
