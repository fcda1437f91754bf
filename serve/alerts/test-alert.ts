import type { Answer } from '../../aggregate/alerts/answers.ts';
import { BodyError } from '../../aggregate/alerts/delivery.ts';
import { Refused } from './access.ts';
import type { Desk } from './desk.ts';
import { receive } from './intake.ts';
import { integrationOf } from './integrations.ts';
import type { Project } from './tables.ts';

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
