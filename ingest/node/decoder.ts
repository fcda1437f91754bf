import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { DecodedBlocks, DecodeTask } from './decode-worker.ts';

/** The thread that asks nodes and loads lines has a core of its own. */
const THREADS = Math.max(1, availableParallelism() - 1);
const IDLE_MS = 60_000;

let threads: Piscina<DecodeTask, DecodedBlocks> | undefined;

/** Checks and decodes blocks in worker threads, which all nodes of a process share. */
export function decodeBlocks(task: DecodeTask): Promise<DecodedBlocks> {
  threads ??= new Piscina<DecodeTask, DecodedBlocks>({
    filename: fileURLToPath(new URL('./decode-worker.ts', import.meta.url)),
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: IDLE_MS,
    execArgv: [],
  });
  return threads.run(task);
}
