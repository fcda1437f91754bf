import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { ignore } from '../../infra/ignore.ts';
import type { DecodedBlocks, DecodeTask } from './decode-worker.ts';

/** The thread that asks nodes and loads lines has a core of its own. */
const THREADS = Math.max(1, availableParallelism() - 1);
const IDLE_MS = 60_000;
/** Far above the time of honest blocks on a busy machine; metadata can describe types without an end. */
const TASK_MS_MAX = 120_000;
const HEAP_MB_MAX = 1024;

let threads: Piscina<DecodeTask, DecodedBlocks> | undefined;

/** Checks and decodes blocks in worker threads, which all nodes of a process share. Rejects if its thread runs out of memory or time. */
export function decodeBlocks(task: DecodeTask): Promise<DecodedBlocks> {
  threads ??= openThreads();
  return threads.run(task, { signal: AbortSignal.timeout(TASK_MS_MAX) });
}

function openThreads(): Piscina<DecodeTask, DecodedBlocks> {
  const opened = new Piscina<DecodeTask, DecodedBlocks>({
    filename: fileURLToPath(new URL('./decode-worker.ts', import.meta.url)),
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: IDLE_MS,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  });
  // Without a listener a thread that ends between two tasks would end the process.
  return opened.on('error', ignore('ingest.decoder'));
}
