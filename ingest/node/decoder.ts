import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { reasonOf } from '../../infra/errors.ts';
import { ignore } from '../../infra/ignore.ts';
import type { DecodedBlocks, DecodeTask } from './decode-worker.ts';

/** Leaves one core to the main thread, which sends requests and loads lines. */
const THREADS = Math.max(1, availableParallelism() - 1);
const IDLE_MS = 60_000;
/** Time limit of one step, far above real blocks on a busy machine. Hostile metadata can describe infinite types. */
const STEP_MS_MAX = 5_000;
const HEAP_MB_MAX = 1024;
/** `DecodeTask.step` at the first block. */
const FIRST_BLOCK_STEP = 2;

let threads: Piscina<DecodeTask, DecodedBlocks> | undefined;

/** Thrown if a task takes more memory or time than a thread has. */
export class ThreadEnded extends Error {
  /** Index of the block that the thread was decoding; null if it was compiling the metadata. */
  readonly place: number | null;

  constructor(step: number, reason: string) {
    super(`the decoder thread ended: ${reason}`);
    this.place = step < FIRST_BLOCK_STEP ? null : step - FIRST_BLOCK_STEP;
  }
}

/** Checks and decodes blocks in worker threads, which all nodes of a process share. Throws ThreadEnded. */
export async function decodeBlocks(task: Omit<DecodeTask, 'step'>): Promise<DecodedBlocks> {
  threads ??= openThreads();
  const step = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const overtime = new AbortController();
  let lastStep = 0;
  // Aborts only a task whose step did not change. A task that waits for a thread is in step 0.
  const watch = setInterval(() => {
    if (step[0] === lastStep && lastStep > 0)
      overtime.abort(new Error(`decoding took more than ${STEP_MS_MAX / 1000} s`));
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
  // Without a listener a thread that dies between two tasks would end the process.
  return opened.on('error', ignore('ingest.decoder'));
}
