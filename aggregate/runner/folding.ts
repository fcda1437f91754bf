import { on } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { Window } from '../../ingest/raw/canonical.ts';
import type { MaterializedMetric } from '../metric.ts';
import { foldLines } from './fold-lines.ts';
import type { FoldReply, FoldTask } from './fold-worker.ts';

/** Facts of which a fold takes well under the time of a request: more of them must not hold up the server. */
export const INLINE_FOLD_BYTES_MAX = 1024 * 1024;

/**
 * Rows of a fold as JSON lines, some thousands at a time. Few facts are folded here and now, many in a thread
 * beside, which makes the next rows when the former have been taken.
 */
export function foldInPieces(
  metric: MaterializedMetric,
  window: Window,
  version: string,
  facts: Buffer,
): Iterable<string> | AsyncIterable<string> {
  return facts.length <= INLINE_FOLD_BYTES_MAX
    ? foldLines(metric, window, version, facts)
    : foldBeside({ metric: metric.name, window, version, facts });
}

let thread: Worker | undefined;

/** Started with the first large fold; it keeps no process from ending. */
function foldingThread(): Worker {
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

async function* foldBeside(task: Omit<FoldTask, 'port'>): AsyncGenerator<string> {
  const worker = foldingThread();
  const { port1, port2 } = new MessageChannel();
  const broken = new AbortController();
  const isBroken = (error: unknown) => broken.abort(error);
  worker.once('error', isBroken);
  try {
    worker.postMessage({ ...task, port: port2 }, [port2]);
    for await (const [answer] of on(port1, 'message', { signal: broken.signal }) as AsyncIterable<
      [FoldReply]
    >) {
      if ('failed' in answer) throw new Error(answer.failed);
      if (answer.lines === null) return;
      yield answer.lines;
      port1.postMessage('taken');
    }
  } catch (error) {
    throw broken.signal.aborted ? broken.signal.reason : error;
  } finally {
    worker.off('error', isBroken);
    port1.close();
  }
}
