import { once } from 'node:events';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { reasonOf } from '../../infra/errors.ts';
import type { Window } from '../../ingest/raw/canonical.ts';
import { materializedMetrics } from '../metrics/index.ts';
import { foldLines } from './fold-lines.ts';

/** A fold to do, and where its rows are told: piece by piece, each when the one before has been taken. */
export interface FoldTask {
  readonly metric: string;
  readonly window: Window;
  readonly version: string;
  readonly facts: Uint8Array;
  readonly port: MessagePort;
}

/** Null after the last piece. */
export type FoldReply = { readonly lines: string | null } | { readonly failed: string };

parentPort?.on('message', async ({ port, ...task }: FoldTask) => {
  const answer = (message: FoldReply) => port.postMessage(message);
  try {
    const metric = materializedMetrics.find(({ name }) => name === task.metric);
    if (!metric) throw new Error(`no metric ${task.metric}`);
    for (const lines of foldLines(metric, task.window, task.version, task.facts)) {
      const taken = once(port, 'message');
      answer({ lines });
      await taken;
    }
    answer({ lines: null });
  } catch (error) {
    answer({ failed: reasonOf(error) });
  } finally {
    port.close();
  }
});
