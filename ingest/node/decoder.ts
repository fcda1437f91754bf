import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { reasonOf } from '../../infra/errors.ts';
import { ignore } from '../../infra/ignore.ts';
import type { DecodedBlocks, DecodeTask } from './decode-worker.ts';

/** The thread that asks nodes and loads lines has a core of its own. */
const THREADS = Math.max(1, availableParallelism() - 1);
const IDLE_MS = 60_000;
/** For one block, or to compile metadata: far above honest ones on a busy machine. Metadata can describe types without an end. */
const STEP_MS_MAX = 5_000;
const HEAP_MB_MAX = 1024;
/** `DecodeTask.step` at the first block. */
const FIRST_BLOCK_STEP = 2;

let threads: Piscina<DecodeTask, DecodedBlocks> | undefined;

/** Thrown if a task takes more memory or time than a thread has. */
export class ThreadEnded extends Error {
  /** Place of the block that the thread was decoding; null if it was compiling the metadata. */
  readonly place: number | null;

  constructor(step: number, reason: string) {
    super(`its thread ended: ${reason}`);
    this.place = step < FIRST_BLOCK_STEP ? null : step - FIRST_BLOCK_STEP;
  }
}

/** Checks and decodes blocks in worker threads, which all nodes of a process share. Throws ThreadEnded. */
export async function decodeBlocks(task: Omit<DecodeTask, 'step'>): Promise<DecodedBlocks> {
  threads ??= openThreads();
  const step = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const overtime = new AbortController();
  let lastStep = 0;
  // A task that waits for a thread has begun no step, and a long one goes on to the next.
  const watch = setInterval(() => {
    if (step[0] === lastStep && lastStep > 0)
      overtime.abort(new Error(`no end after ${STEP_MS_MAX / 1000} s`));
    lastStep = Atomics.load(step, 0);
  }, STEP_MS_MAX);
  try {
    return await threads.run({ ...task, step }, { signal: overtime.signal });
  } catch (error) {
    const reason = overtime.signal.aborted ? overtime.signal.reason : error;
    throw new ThreadEnded(Atomics.load(step, 0), reasonOf(reason));
  } finally {
    clearInterval(watch);
  }
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
