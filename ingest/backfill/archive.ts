import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { Chain } from '../chains/chain.ts';
import { chainOfFile } from '../chains/chain-of-file.ts';
import type { Registry } from '../chains/registry.ts';
import { timeOf } from '../decode/block-time.ts';
import { type HeightRange, heightAtStart } from '../sources/heights.ts';
import type { Input } from '../sources/input-files.ts';
import { decompress, readLines } from '../sources/lines.ts';

/** Lines of an archive that are not stored yet, in the order of the file. */
interface ArchivePortion {
  readonly name: string;
  /** Line number of the first line in the file. */
  readonly firstLine: number;
  readonly lines: Buffer[];
  blocks: number;
  bytes: number;
}

interface ArchiveLimits {
  readonly lineBytes: number;
  readonly bytesMax: number;
  readonly msMax: number;
}

/** Selects the blocks of an archive. */
interface Selection {
  /** Heights of a range that are not stored. */
  missing(range: HeightRange): Promise<readonly HeightRange[]>;
  readonly heights: HeightRange;
  /** Milliseconds; `until` is exclusive. */
  readonly times?: { readonly from: number; readonly until: number } | undefined;
}

/** Few enough heights that one query returns all missing ranges. */
const HEIGHTS_PER_QUERY = 20_000;
/** Lines that are left out become empty lines in a portion. After a longer gap a new portion begins. */
const LINES_APART_MAX = 1000;
const NEWLINE = '\n';

/** Throws if the file is named after another chain: its blocks would be stored under this chain. */
export function requireFileOfChain(chain: Chain, registry: Registry, { name }: Input): void {
  const fileChain = chainOfFile(registry, name);
  if (
    fileChain === undefined ||
    (fileChain.name === chain.name && fileChain.relay_chain === chain.relay_chain)
  )
    return;
  throw new ProductError(
    'usage',
    `${name} is named after ${fileChain.name}, not ${chain.name}: rename it, or give it to that chain`,
  );
}

/**
 * The lines of an archive that the store lacks. Bare blocks are selected by height. Other lines are always included,
 * because only the loader can read them.
 */
export async function* missingLines(
  input: Input,
  stream: ReturnType<Input['open']>,
  wanted: Selection,
  limits: ArchiveLimits,
): AsyncGenerator<ArchivePortion> {
  const isWanted = chooser(wanted);
  let portion: ArchivePortion | null = null;
  let [last, began] = [0, 0];
  try {
    for await (const { number, bytes, tooLong } of readLines(
      decompress(input.name, stream, limits.lineBytes),
      limits.lineBytes,
    )) {
      const height = heightAtStart(bytes);
      if (height !== null && !(await isWanted(height, bytes))) continue;
      if (portion && (number - last > LINES_APART_MAX || isFull(portion, began, limits))) {
        yield portion;
        portion = null;
      }
      if (portion === null) {
        portion = { name: input.name, firstLine: number, lines: [], blocks: 0, bytes: 0 };
        began = performance.now();
      } else portion.lines.push(Buffer.from(NEWLINE.repeat(number - last)));
      // One byte above the limit, so that the loader refuses it for its length.
      portion.lines.push(tooLong ? Buffer.concat([bytes, Buffer.from(' ')]) : bytes);
      portion.bytes += bytes.length;
      if (height !== null) portion.blocks++;
      last = number;
    }
  } catch (error) {
    if (portion) yield portion;
    throw error instanceof ProductError
      ? error
      : new ProductError('source_failed', `${input.name} cannot be read completely: ${reasonOf(error)}`);
  }
  if (portion) yield portion;
}

const isFull = ({ bytes }: ArchivePortion, began: number, { bytesMax, msMax }: ArchiveLimits) =>
  bytes >= bytesMax || performance.now() - began >= msMax;

function chooser({ missing, heights, times }: Selection): (height: number, line: Buffer) => Promise<boolean> {
  let queried: { readonly range: HeightRange; readonly missing: readonly HeightRange[] } | null = null;
  return async (height, line) => {
    if (height < heights.from || height > heights.to) return false;
    if (queried === null || !isWithin(height, queried.range)) {
      const from = height - (height % HEIGHTS_PER_QUERY);
      const range = { from, to: from + HEIGHTS_PER_QUERY - 1 };
      queried = { range, missing: await missing(range) };
    }
    if (!queried.missing.some((range) => isWithin(height, range))) return false;
    if (times === undefined) return true;
    const time = timeOf(line);
    return time === null || (time >= times.from && time < times.until);
  };
}

const isWithin = (height: number, { from, to }: HeightRange) => height >= from && height <= to;
