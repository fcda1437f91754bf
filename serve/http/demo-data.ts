import type { FastifyInstance } from 'fastify';
import type { Aggregator } from '../../aggregate/runner/aggregator.ts';
import type { Store } from '../../infra/ports.ts';
import { readDemoMark } from '../../ingest/demo/mark.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** Banner text of pages with demo data; null without demo data. */
    demoNote: string | null;
  }
}

/**
 * If the store holds demo data, adds a header and a banner to every response and returns the notice; otherwise returns
 * null. Reads the mark once, because it is written before the server starts.
 */
export async function announceDemoData(
  app: FastifyInstance,
  { store, aggregator }: { store: Store; aggregator: Pick<Aggregator, 'isPaused' | 'progress'> },
): Promise<string | null> {
  app.decorateReply('demoNote', null);
  if ((await readDemoMark(store)) === null) return null;
  app.addHook('onRequest', (_request, reply, next) => {
    reply.header('x-demo-data', 'true');
    reply.demoNote = `${DEMO_NOTE}${unfinished(aggregator)}`;
    next();
  });
  return DEMO_NOTE;
}

const DEMO_NOTE = 'Demo data: made up, not measured. A few blocks of each chain stand for each day.';

/** Progress of the first start; rows are missing until it ends. */
function unfinished({
  isPaused,
  progress: { done, total },
}: Pick<Aggregator, 'isPaused' | 'progress'>): string {
  if (isPaused) return ' They are being loaded: metrics follow in some seconds.';
  if (total === 0) return '';
  const share = Math.floor((100 * done) / total);
  return ` Metrics are being computed (${share} % done): reload the page to see more.`;
}
