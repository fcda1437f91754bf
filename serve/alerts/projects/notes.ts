import { sql } from '../../../infra/clickhouse/sql.ts';
import { newLocator } from '../../identity/accounts/secrets.ts';
import type { User } from '../../identity/accounts/tables.ts';
import type { AlertServices } from '../services.ts';
import { RequestRefused } from './access.ts';
import type { Note } from './tables.ts';

export const NOTE_CHARACTERS_MAX = 10_000;
const NOTES_SHOWN = 500;

/** What people wrote about an alert, oldest first. */
export function notesOf(services: AlertServices, projectId: string, iid: number): Promise<Note[]> {
  return services.notes.find(
    sql`alert = ${`${projectId}/${iid}`} AND deleted_ms = 0`,
    'created_ms, id',
    NOTES_SHOWN,
  );
}

export async function addNote(
  services: AlertServices,
  projectId: string,
  iid: number,
  author: User,
  text: string,
): Promise<Note> {
  const body = text.trim();
  if (body === '') throw new RequestRefused('bad_request', 'Write something.', 'body');
  if (body.length > NOTE_CHARACTERS_MAX) {
    throw new RequestRefused('bad_request', `Use ${NOTE_CHARACTERS_MAX} characters at most.`, 'body');
  }
  const note = {
    id: newLocator(),
    expires_ms: 0,
    alert: `${projectId}/${iid}`,
    author_id: author.id,
    body,
    created_ms: services.accounts.clock.now(),
    deleted_ms: 0,
  };
  await services.notes.add(note);
  return { ...note, version: 1 };
}

/** Only whoever wrote a note takes it back. */
export async function deleteNote(
  services: AlertServices,
  projectId: string,
  iid: number,
  by: User,
  id: string,
): Promise<void> {
  await services.notes.change(id, (current) => {
    const isHere = current !== null && current.alert === `${projectId}/${iid}` && current.deleted_ms === 0;
    if (!isHere) throw new RequestRefused('not_found', 'Note Not Found');
    if (current.author_id !== by.id) throw new RequestRefused('forbidden', 'Only its author deletes a note.');
    return { next: { ...current, deleted_ms: services.accounts.clock.now() }, result: undefined };
  });
}
