import { z } from 'zod';
import type { AlertDomain } from '../composition/domain.ts';
import { EVERY_REQUEST, POSTED } from '../integrations/heartbeat-store.ts';
import type { Heartbeat } from '../integrations/heartbeats.ts';
import { timeText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

const shape = z
  .object({
    id: z.string(),
    integration_id: z.string(),
    type: z
      .enum(['requests', 'posted', 'watchdog'])
      .describe(
        'the signal that counts as a beat: every request of the integration, POST …/heartbeat, or a firing alert that matches `heartbeat_matchers`',
      ),
    labels: z.array(z.string()).describe('labels of a watchdog, as `name=value`'),
    state: z.enum(['waiting', 'beating', 'missing']).describe('`waiting`: no beat has arrived yet'),
    last_beat_at: z.iso.datetime().nullable(),
    alert_iid: z.int().nullable().describe('number of the open alert about the missing beat'),
  })
  .meta({ id: 'Heartbeat' });

const TYPES: Readonly<Record<string, string>> = { [EVERY_REQUEST]: 'requests', [POSTED]: 'posted' };

function jsonOf({ id, integration, beat, labels, heardMs, alert }: Heartbeat) {
  const state = heardMs === 0 ? 'waiting' : 'beating';
  return {
    id,
    integration_id: integration,
    type: TYPES[beat] ?? 'watchdog',
    labels,
    state: alert === null ? state : 'missing',
    last_beat_at: timeText(heardMs),
    alert_iid: alert?.iid ?? null,
  };
}

const tag = 'Alert integrations' as const;
const params = z.object({ heartbeat_id: z.string() });

/** Serves the heartbeats that the integrations of a project watch. */
export function serveHeartbeats(
  api: Api,
  { heartbeats, integrations }: Pick<AlertDomain, 'heartbeats' | 'integrations'>,
): void {
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/heartbeats',
      tag,
      summary: 'List heartbeats of a project',
      role: 'Reporter',
      isWholeList: true,
      answer: z.array(shape),
    },
    async ({ membership: { project } }) =>
      (await heartbeats.list(await integrations.list(project.id))).map(jsonOf),
  );
  api.add(
    {
      method: 'DELETE',
      path: '/projects/:id/heartbeats/:heartbeat_id',
      tag,
      summary: 'Forget a heartbeat',
      doc: 'Resolves the alert about the heartbeat and stops watching it until the next beat. Fails with 409 for the type `requests`: set `heartbeat_minutes` of the integration to 0 instead.',
      role: 'Maintainer',
      params,
      status: 204,
    },
    async ({ membership: { project }, params }) =>
      heartbeats.forget(await integrations.list(project.id), params.heartbeat_id),
  );
}
