import { BodyError } from '../../../aggregate/alerts/model/event.ts';
import type { Answer } from '../../../aggregate/alerts/processor/results.ts';
import { receive } from '../intake/intake.ts';
import { Refused } from '../projects/access.ts';
import type { Project } from '../projects/tables.ts';
import type { Desk } from '../services.ts';
import { integrationOf } from './integrations.ts';

/** Sends a payload the way of every alert, in the name of an active integration; refused with what is wrong. */
export async function sendTest(desk: Desk, project: Project, id: string, payload: string): Promise<Answer> {
  const { type, is_active } = await integrationOf(desk, project, id);
  if (!is_active) throw new Refused(409, 'The integration is switched off; activate it first.', 'active');
  const body = Buffer.from(payload);
  const most = desk.engine.config.ALERT_BODY_BYTES_MAX;
  if (body.length > most) throw new Refused(400, `A payload may have ${most} bytes at most.`, 'payload');
  const entry = await desk.directory.find(id);
  if (entry === undefined) throw new Refused(404, 'Integration Not Found');
  try {
    return await receive(desk, entry, type === 'prometheus' ? 'prometheus' : 'http', body, undefined);
  } catch (error) {
    if (error instanceof BodyError) throw new Refused(400, error.message, 'payload');
    throw error;
  }
}
