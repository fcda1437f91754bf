import { BodyError } from '../../../aggregate/alerts/formats/delivery.ts';
import type { EventResult } from '../../../aggregate/alerts/processor/result-channel.ts';
import { receive } from '../intake/intake.ts';
import { RequestRefused } from '../projects/access.ts';
import type { Project } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';
import { integrationOf } from './integrations.ts';

/** Sends a payload the way of every alert, in the name of an active integration; refused with what is wrong. */
export async function sendTest(
  services: AlertServices,
  project: Project,
  id: string,
  payload: string,
): Promise<EventResult> {
  const { type, is_active } = await integrationOf(services, project, id);
  if (!is_active)
    throw new RequestRefused('conflict', 'The integration is switched off; activate it first.', 'active');
  const body = Buffer.from(payload);
  const most = services.engine.config.ALERT_BODY_BYTES_MAX;
  if (body.length > most)
    throw new RequestRefused('bad_request', `A payload may have ${most} bytes at most.`, 'payload');
  const entry = await services.integrationCache.find(id);
  if (entry === undefined) throw new RequestRefused('not_found', 'Integration Not Found');
  try {
    return await receive(services, entry, type === 'prometheus' ? 'prometheus' : 'http', body, undefined);
  } catch (error) {
    if (error instanceof BodyError) throw new RequestRefused('bad_request', error.message, 'payload');
    throw error;
  }
}
