import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { HttpError, RETRY_SOON } from './errors.ts';
import { problemResponse } from './responses.ts';
import { route } from './route.ts';

/**
 * Probes of an orchestrator: the process runs, and it can answer. `ready` throws when a service is away. Damaged data are
 * told and answered with 200: no restart and no other route heals them, and everything else is still served.
 */
export async function serveHealth(
  app: FastifyInstance,
  ready: () => Promise<void>,
  isDamaged: () => boolean = () => false,
): Promise<void> {
  const whole = {
    'application/json': {
      schema: z.object({
        status: z
          .enum(['ok', 'degraded'])
          .describe('degraded: stored data were found damaged; `chain-metrics check` lists them'),
      }),
      example: { status: 'ok' },
    },
  };
  const ok = {
    'application/json': { schema: z.object({ status: z.literal('ok') }), example: { status: 'ok' } },
  };
  const probe = { method: 'GET', tag: 'For operators' } as const;
  route(
    app,
    {
      ...probe,
      path: '/health/live',
      summary: 'The process runs',
      responses: { 200: { description: 'It runs', content: ok }, 503: problemResponse('The server is busy') },
    },
    () => ({ status: 'ok' }),
  );
  route(
    app,
    {
      ...probe,
      path: '/health/ready',
      summary: 'The services that it needs answer',
      responses: {
        200: { description: 'They answer', content: whole },
        503: problemResponse('A service does not answer'),
      },
    },
    async () => {
      try {
        await ready();
      } catch {
        throw new HttpError('unavailable', 'A service that this one needs does not answer.', RETRY_SOON);
      }
      return { status: isDamaged() ? 'degraded' : 'ok' };
    },
  );
}
