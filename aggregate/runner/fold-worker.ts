import { once } from 'node:events';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { reasonOf } from '../../infra/errors.ts';
import { materializedMetrics } from '../metrics/index.ts';
import { type FoldInput, foldLines } from './fold-lines.ts';

/** A fold, and the port for its rows. The worker sends a piece after the reader has confirmed the previous one. */
export interface FoldTask {
  readonly metric: string;
  readonly input: FoldInput;
  readonly port: MessagePort;
}

/** Null after the last piece. */
export type FoldReply = { readonly lines: string | null } | { readonly failed: string };

parentPort?.on('message', async ({ port, ...task }: FoldTask) => {
  const reply = (message: FoldReply) => port.postMessage(message);
  try {
    const metric = materializedMetrics.find(({ name }) => name === task.metric);
    if (!metric) throw new Error(`no metric is called ${task.metric}`);
    for (const lines of foldLines(metric, task.input)) {
      const isRead = once(port, 'message');
      reply({ lines });
      await isRead;
    }
    reply({ lines: null });
  } catch (error) {
    reply({ failed: reasonOf(error) });
  } finally {
    port.close();
  }
});
