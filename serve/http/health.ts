import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import { HttpError, RETRY_SOON } from './errors.ts';
import type { ProcessHealth } from './process-health.ts';
import { problemResponse } from './responses.ts';
import { route } from './route.ts';

const ok = {
  'application/json': { schema: z.object({ status: z.literal('ok') }), example: { status: 'ok' } },
};
const whole = {
  'application/json': {
    schema: z.object({
      status: z
        .enum(['ok', 'degraded'])
        .describe('degraded: damaged stored data were found; `chain-metrics check` lists them'),
    }),
    example: { status: 'ok' },
  },
};
const probe = { method: 'GET', tag: 'For operators' } as const;

/**
 * Health probes. Liveness checks no other service, since a restart would not fix that service; a blocked event loop
 * makes the probe time out. Damaged data get status 200 for the same reason.
 */
export async function serveHealth(app: FastifyInstance, health: ProcessHealth): Promise<void> {
  route(
    app,
    {
      ...probe,
      path: '/health/live',
      summary: 'Liveness probe',
      isAnsweredUnderLoad: true,
      responses: { 200: { description: 'The process runs', content: ok } },
    },
    () => ({ status: 'ok' }),
  );
  route(
    app,
    {
      ...probe,
      path: '/health/startup',
      summary: 'Startup probe',
      isAnsweredUnderLoad: true,
      responses: {
        200: { description: 'The process has started', content: ok },
        503: problemResponse('The process is starting'),
      },
    },
    () => {
      if (!health.hasStarted) throw new HttpError('unavailable', 'The process is starting.', RETRY_SOON);
      return { status: 'ok' };
    },
  );
  route(
    app,
    {
      ...probe,
      path: '/health/ready',
      summary: 'Readiness probe',
      responses: {
        200: { description: 'All required services answer', content: whole },
        503: problemResponse('A required service does not answer'),
      },
    },
    async () => {
      try {
        await health.checkReady();
      } catch (error) {
        const reason = error instanceof ProductError ? error.message : 'a service does not answer';
        throw new HttpError('unavailable', `Not ready: ${reason}.`, RETRY_SOON);
      }
      return { status: health.isDamaged ? 'degraded' : 'ok' };
    },
  );
}
