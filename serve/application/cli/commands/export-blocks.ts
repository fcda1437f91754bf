import { extname } from 'node:path';
import { Readable, type Transform } from 'node:stream';
import { createGzip, createZstdCompress } from 'node:zlib';
import { ProductError } from '../../../../infra/errors.ts';
import type { BlockService } from '../../../../ingest/sources/block-service.ts';
import { parseNode, parseWhole, parseWithin } from '../arguments.ts';
import { command } from '../command.ts';
import { type Display, openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { formatBytes, formatNumber, plural } from '../format.ts';
import { refuseBinaryTerminal, writeRows } from '../rows-output.ts';
import { stopOnSignal } from '../stop.ts';

interface ExportBlocksOptions {
  readonly node: string;
  readonly from: number;
  /** Last height; the finalized head of the node if absent. */
  readonly to?: number;
  readonly concurrency: number;
  readonly output?: string;
}

/** A height that the file does not contain. */
interface MissingBlock {
  readonly number: number;
  readonly reason: string;
}

const SHOWN_MAX = 10;
const SHOW_EVERY_MS = 200;

export const exportBlocks = command<[], ExportBlocksOptions>({
  name: 'export-blocks',
  description: 'write blocks of a node as lines of JSON, for an archive of your own',
  args: (command) =>
    command
      .requiredOption('--node <url>', 'URL of a Substrate node, ws(s) or http(s)', parseNode)
      .option('--from <height>', 'first height', parseWhole, 0)
      .option('--to <height>', 'last height, at most the finalized head; default: that head', parseWhole)
      .option('--concurrency <number>', 'blocks to fetch at the same time', parseWithin(1, 256), 256)
      .option(
        '--output <place>',
        'a file, or s3://bucket/name, compressed by its ending: .ndjson, .ndjson.gz or .ndjson.zst; default: .zst to standard output',
      ),
  help: `Writes one block per line in the format of Sidecar, ordered by height. \`ingest\` and archives in a sources file read this
format; they take the chain from the file name, such as polkadot.ndjson.zst. The node can serve any chain, including one
that is not in the registry. The command stores nothing in DATA_DIR.

Blocks are verified as in \`backfill\`. Heights that the node cannot provide are left out and listed on standard error: only
archive nodes have the events of blocks before the last 256. Credentials of a bucket come from the standard AWS variables,
as in \`export-raw\`.

Examples:
  chain-metrics export-blocks --node ws://127.0.0.1:9944 --from 21000000 --to 21999999 > polkadot.ndjson.zst
  chain-metrics export-blocks --node ws://127.0.0.1:9944 --from 1 --output s3://archive/kusama.ndjson.zst

Exit code 3: heights were left out.`,
  run: async ({ options: { node, from, to, concurrency, output } }) => {
    const compress = compressionOf(output);
    refuseBinaryTerminal('zst', output);
    const { NodeSource } = await import('../../../../ingest/node/node-source.ts');
    const { heightsBetween } = await import('../../../../ingest/backfill/range-bounds.ts');
    const signal = stopOnSignal();
    const service = await NodeSource.connect(node, { signal });
    const range = await heightsBetween(service, { height: from }, to === undefined ? to : { height: to });
    const display = openDisplay(process.stderr);
    const missing: MissingBlock[] = [];
    try {
      const lines = Readable.from(blockLines(service, { range, concurrency, display, missing }));
      await writeBlocks(compress ? lines.compose(compress) : lines, output);
      display.complete();
    } finally {
      display.end();
    }
    if (missing.length === 0) return EXIT.ok;
    process.stderr.write(textOf(missing));
    return EXIT.refused;
  },
});

function compressionOf(output: string | undefined): Transform | null {
  if (output === undefined) return createZstdCompress();
  switch (extname(output)) {
    case '.zst':
      return createZstdCompress();
    case '.gz':
      return createGzip();
    case '.ndjson':
      return null;
    default:
      throw new ProductError('usage', '--output ends with .ndjson, .ndjson.gz or .ndjson.zst');
  }
}

interface BlockExport {
  readonly range: { readonly from: number; readonly to: number };
  readonly concurrency: number;
  readonly display: Display;
  readonly missing: MissingBlock[];
}

async function* blockLines(
  service: BlockService,
  { range, concurrency, display, missing }: BlockExport,
): AsyncGenerator<Buffer> {
  const { fetchHeights } = await import('../../../../ingest/backfill/fetch-heights.ts');
  const { LINE_END } = await import('../../../../ingest/sources/lines.ts');
  const total = range.to - range.from + 1;
  const began = performance.now();
  let [blocks, shownAt] = [0, 0];
  for await (const height of fetchHeights(service, [range], concurrency)) {
    if ('line' in height && height.reason === undefined) {
      yield height.line;
      yield LINE_END;
    } else missing.push({ number: height.number, reason: height.reason ?? 'unknown' });
    blocks++;
    const now = performance.now();
    if (now - shownAt < SHOW_EVERY_MS) continue;
    shownAt = now;
    const perSecond = blocks / ((now - began) / 1000);
    display.show('fetching', {
      done: blocks / total,
      words: `${formatNumber(blocks)} of ${plural(total, 'block')}, ${formatNumber(Math.round(perSecond))} blocks/s`,
      secondsLeft: (total - blocks) / perSecond,
    });
  }
}

async function writeBlocks(lines: Readable, output: string | undefined): Promise<void> {
  if (!output?.startsWith('s3://')) return writeRows(lines, output);
  const { putObject } = await import('../../../raw-export/put-object.ts');
  process.stderr.write(`${output}: ${formatBytes(await putObject(lines, output))}\n`);
}

function textOf(missing: readonly MissingBlock[]): string {
  const shown = missing.slice(0, SHOWN_MAX).map(({ number: height, reason }) => `  ${height}: ${reason}\n`);
  const more = missing.length - shown.length;
  return `${plural(missing.length, 'height')} left out:\n${shown.join('')}${more > 0 ? `  and ${formatNumber(more)} more\n` : ''}`;
}
