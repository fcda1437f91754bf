import type { FastifyInstance } from 'fastify';
import type { Engine } from '../aggregate/engine.ts';
import { sql } from '../infra/kernel/sql.ts';
import { HttpError } from './errors.ts';

/** Probes for whoever runs the service: is it alive, can it answer. */
export async function serveHealth(app: FastifyInstance, engine: Engine): Promise<void> {
  const operators = { tags: ['For operators'] };
  app.get('/health/live', { schema: { ...operators, summary: 'The process runs' } }, async () => ({
    status: 'ok',
  }));
  app.get('/health/ready', { schema: { ...operators, summary: 'The store answers' } }, async () => {
    try {
      await engine.runtime.store.rows(sql`SELECT 1`);
    } catch {
      throw new HttpError(503, 'The store does not answer.', { 'retry-after': '5' });
    }
    return { status: 'ok' };
  });
}
