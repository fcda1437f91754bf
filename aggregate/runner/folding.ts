import { on } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { MaterializedMetric } from '../metric.ts';
import { type FoldInput, foldLines } from './fold-lines.ts';
import type { FoldReply, FoldTask } from './fold-worker.ts';

/** Larger folds run in a worker thread, because they would block the requests of the server. */
export const INLINE_FOLD_BYTES_MAX = 1024 * 1024;

/**
 * Rows of a fold as JSON lines, some thousands at a time. Few facts are folded in this thread, many in a worker thread.
 * The worker makes a piece after the caller has read the previous piece.
 */
export function foldInPieces(
  metric: MaterializedMetric,
  input: FoldInput,
): Iterable<string> | AsyncIterable<string> {
  return input.facts.length + input.stored.length <= INLINE_FOLD_BYTES_MAX
    ? foldLines(metric, input)
    : foldInWorker({ metric: metric.name, input });
}

let thread: Worker | undefined;

/** Starts at the first large fold. The thread does not keep the process alive. */
function foldWorker(): Worker {
  if (thread) return thread;
  const started = new Worker(new URL('./fold-worker.ts', import.meta.url), { execArgv: [] });
  started.setMaxListeners(0);
  started.once('exit', () => {
    if (thread === started) thread = undefined;
  });
  started.unref();
  thread = started;
  return started;
}

async function* foldInWorker(task: Omit<FoldTask, 'port'>): AsyncGenerator<string> {
  const worker = foldWorker();
  const { port1, port2 } = new MessageChannel();
  const broken = new AbortController();
  const isBroken = (error: unknown) => broken.abort(error);
  // A listener that is added after the `error` event of the worker gets its `exit` event only.
  const isOver = () => broken.abort(new Error('the worker thread of folds ended before all rows were read'));
  worker.once('error', isBroken).once('exit', isOver);
  try {
    worker.postMessage({ ...task, port: port2 }, [port2]);
    for await (const [reply] of on(port1, 'message', { signal: broken.signal }) as AsyncIterable<
      [FoldReply]
    >) {
      if ('failed' in reply) throw new Error(reply.failed);
      if (reply.lines === null) return;
      yield reply.lines;
      port1.postMessage('read');
    }
  } catch (error) {
    throw broken.signal.aborted ? broken.signal.reason : error;
  } finally {
    worker.off('error', isBroken).off('exit', isOver);
    port1.close();
  }
}
