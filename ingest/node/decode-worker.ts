import { LRUCache } from 'lru-cache';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { decodeBlock, NO_FEE, type RawBlock } from './decode/block.ts';
import { checkBlock } from './decode/check.ts';
import { LineBuffer } from './decode/line-buffer.ts';
import { type NodeRuntime, readRuntime } from './decode/runtime.ts';
import type { RuntimeMetadata } from './runtimes.ts';

/** Blocks of one runtime, each with the hash that its parent must have. */
export interface DecodeTask {
  readonly runtime: RuntimeMetadata;
  readonly blocks: readonly { readonly raw: RawBlock; readonly parentHash: string | undefined }[];
  /** The current step in shared memory: 0 before the task begins, 1 for the metadata, 2 for the first block, and so on. */
  readonly step: Int32Array<SharedArrayBuffer>;
}

interface DecodedBlock {
  /** Offsets of its line in `bytes`. */
  readonly begin: number;
  readonly end: number;
  readonly undecodedCalls: number;
  /** Indexes of the extrinsics whose fee is in no event and was not requested yet. */
  readonly feeless: readonly number[];
}

/** Lines one after another. An incomplete block has a reason instead. */
export interface DecodedBlocks {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly blocks: readonly (DecodedBlock | { readonly reason: string })[];
}

const COMPILED_MAX = 8;
const compiled = new LRUCache<string, NodeRuntime>({ max: COMPILED_MAX });

function runtimeOf({ key, specVersion, bytes }: RuntimeMetadata): NodeRuntime {
  const known = compiled.get(key);
  if (known) return known;
  const runtime = readRuntime(bytes);
  // A cache in front of a node may return the newest metadata for every block.
  if (runtime.specVersion !== null && runtime.specVersion !== specVersion)
    throw new ProductError(
      'source_failed',
      `the metadata belongs to runtime version ${runtime.specVersion}, not ${specVersion}`,
    );
  compiled.set(key, runtime);
  return runtime;
}

const NO_BYTES = new Uint8Array(0);

function feelessOf(line: Buffer): number[] {
  if (!line.includes(NO_FEE)) return [];
  const { extrinsics } = JSON.parse(line.toString('utf8')) as { extrinsics: readonly { info: object }[] };
  return extrinsics.flatMap(({ info }, i) => (JSON.stringify(info) === NO_FEE ? [i] : []));
}

/** Checks and decodes blocks in a worker thread. */
export default function decode({ runtime: metadata, blocks, step }: DecodeTask): DecodedBlocks {
  try {
    Atomics.store(step, 0, 1);
    const runtime = runtimeOf(metadata);
    return decodeWith(runtime, blocks, () => Atomics.add(step, 0, 1));
  } catch (error) {
    return { bytes: NO_BYTES, blocks: blocks.map(() => ({ reason: reasonOf(error) })) };
  }
}

const lines = new LineBuffer();

function decodeWith(runtime: NodeRuntime, blocks: DecodeTask['blocks'], begin: () => void): DecodedBlocks {
  let end = 0;
  const decoded = blocks.map(({ raw, parentHash }) => {
    begin();
    try {
      const reason = checkBlock(runtime, raw, parentHash);
      if (reason !== null) return { reason };
      const { texts, undecodedCalls } = decodeBlock(runtime, raw);
      const line = lines.add(texts);
      end += line.length;
      return { begin: end - line.length, end, undecodedCalls, feeless: raw.fees ? [] : feelessOf(line) };
    } catch (error) {
      return { reason: reasonOf(error) };
    }
  });
  return { bytes: lines.take(), blocks: decoded };
}
