import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { folderOf } from '../../support/fixtures.ts';

export type Block = { number: string | number; extrinsics: Extrinsic[] };
export type Extrinsic = {
  method: { pallet: string; method: string };
  signature: unknown;
  args: Record<string, unknown>;
  success: unknown;
  events: { method: { pallet: string; method: string }; data: unknown[] }[];
};

/** The recorded blocks of `blocks/kusama` or `runtime/polkadot`, as lines of JSON. */
export function recordedLines(name: string): string[] {
  const [folder, chain] = name.split('/') as ['blocks' | 'runtime', string];
  const text = gunzipSync(readFileSync(new URL(`${chain}.ndjson.gz`, folderOf(folder)))).toString('utf8');
  return text.split('\n').filter((line) => line !== '');
}

export function recordedFiles(folder: 'blocks' | 'runtime'): string[] {
  const files = readdirSync(folderOf(folder)).filter((file) => file.endsWith('.ndjson.gz'));
  return files.map((file) => `${folder}/${file.replace('.ndjson.gz', '')}`);
}

export function recordedBlock(name: string, height: number): Block {
  const blocks = recordedLines(name).map((line) => JSON.parse(line) as Block);
  const found = blocks.find((block) => Number(block.number) === height);
  if (!found) throw new Error(`${name} has no block ${height}`);
  return found;
}
