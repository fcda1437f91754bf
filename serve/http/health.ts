import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

/** Probes of an orchestrator: the process runs, and it can answer. `ready` throws when a service is away. */
export async function serveHealth(app: FastifyInstance, ready: () => Promise<void>): Promise<void> {
  const operators = { tags: ['For operators'] };
  app.get('/health/live', { schema: { ...operators, summary: 'The process runs' } }, async () => ({
    status: 'ok',
  }));
  app.get(
    '/health/ready',
    { schema: { ...operators, summary: 'The services that it needs answer' } },
    async () => {
      try {
        await ready();
      } catch {
        throw new HttpError('unavailable', 'A service that this one needs does not answer.', {
          'retry-after': '5',
        });
      }
      return { status: 'ok' };
    },
  );
}
