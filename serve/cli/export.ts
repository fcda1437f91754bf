import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { readRegistry } from '../../ingest/chains/registry.ts';
import { exportStatement } from '../metrics/export.ts';
import type { Config } from '../settings.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import type { ExportRequest } from './operator.ts';
import { bytes } from './words.ts';

export interface ExportOptions {
  readonly format?: string;
  readonly relayChain?: string;
  readonly chain?: string;
  readonly from?: string;
  readonly until?: string;
  readonly output?: string;
}

const BINARY = ['parquet', 'arrow'];
const BY_ENDING: Readonly<Record<string, string>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
  '.parquet': 'parquet',
  '.arrow': 'arrow',
};

/** Writes the rows of a metric to a file or to standard output. */
export async function exportCommand(metric: string, given: ExportOptions, config: Config): Promise<number> {
  const { output, relayChain, format = formatOf(output), ...rest } = given;
  if (output === undefined && BINARY.includes(format) && process.stdout.isTTY) {
    throw new ProductError(
      'usage',
      `${format} is not for a terminal: name a file with --output, or use a pipe`,
    );
  }
  const request: ExportRequest = {
    metric,
    format,
    ...rest,
    ...(relayChain === undefined ? {} : { relay_chain: relayChain }),
  };
  // What is wrong with the request is told before anything is opened.
  exportStatement(request, readRegistry(config));
  const operator = await openOperator(config);
  try {
    const rows = await operator.export(request);
    if (output === undefined) await print(rows);
    else process.stderr.write(`${output}: ${bytes(await save(rows, output))}\n`);
    return EXIT.ok;
  } finally {
    await operator.close();
  }
}

function formatOf(output: string | undefined): string {
  return BY_ENDING[extname(output ?? '').toLowerCase()] ?? 'csv';
}

async function print(rows: Readable): Promise<void> {
  for await (const piece of rows) {
    await new Promise<void>((written) => process.stdout.write(piece, () => written()));
  }
}

/** The file is there whole or, when anything fails, as it was before. */
async function save(rows: Readable, output: string): Promise<number> {
  const part = `${output}.part`;
  try {
    const file = createWriteStream(part);
    await pipeline(rows, file);
    await rename(part, output);
    return file.bytesWritten;
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw new ProductError('usage', `${output} cannot be written: ${reasonOf(error)}`);
  }
}
