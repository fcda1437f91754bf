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
        .describe('degraded: stored data were found damaged; `chain-metrics check` lists them'),
    }),
    example: { status: 'ok' },
  },
};
const probe = { method: 'GET', tag: 'For operators' } as const;

/**
 * Probes of an orchestrator. Liveness asks no other service, since a restart would not mend it: a process whose event
 * loop is stuck does not answer in time. Damaged data are told and answered with 200 for the same reason.
 */
export async function serveHealth(app: FastifyInstance, health: ProcessHealth): Promise<void> {
  route(
    app,
    {
      ...probe,
      path: '/health/live',
      summary: 'The process runs',
      isAnsweredUnderLoad: true,
      responses: { 200: { description: 'It runs', content: ok } },
    },
    () => ({ status: 'ok' }),
  );
  route(
    app,
    {
      ...probe,
      path: '/health/startup',
      summary: 'The process has started',
      isAnsweredUnderLoad: true,
      responses: {
        200: { description: 'It has started', content: ok },
        503: problemResponse('It is starting'),
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
      summary: 'The services that it needs answer',
      responses: {
        200: { description: 'They answer', content: whole },
        503: problemResponse('A service does not answer'),
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
