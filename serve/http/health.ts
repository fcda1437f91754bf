import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../aggregate/engine.ts';
import { HttpError } from './errors.ts';

/** Probes for whoever runs the service: is it alive, can it answer. */
export async function serveHealth(app: FastifyInstance, engine: Engine): Promise<void> {
  const operators = { tags: ['For operators'] };
  app.get('/health/live', { schema: { ...operators, summary: 'The process runs' } }, async () => ({
    status: 'ok',
  }));
  app.get(
    '/health/ready',
    { schema: { ...operators, summary: 'The services that it needs answer' } },
    async () => {
      try {
        await engine.ready();
      } catch {
        throw new HttpError('unavailable', 'A service that this one needs does not answer.', {
          'retry-after': '5',
        });
      }
      return { status: 'ok' };
    },
  );
}
