import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator } from '../../accounts/secrets.ts';
import type { User } from '../../accounts/tables.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { Note } from '../model/tables.ts';

const NOTE_CHARACTERS_MAX = 10_000;
const NOTES_MAX = 500;
/** Above NOTES_MAX, because members who write at the same moment may exceed that limit. */
const LISTED_MAX = 2 * NOTES_MAX;

const isOf = (projectId: string, iid: number) => sql`alert = ${`${projectId}/${iid}`} AND deleted_ms = 0`;

/** Notes of members on alerts. */
export class Notes {
  readonly #records: Records<Note>;
  readonly #clock: Clock;

  constructor({ records, clock }: { records: Records<Note>; clock: Clock }) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Oldest first. */
  list(projectId: string, iid: number): Promise<Note[]> {
    return this.#records.find(isOf(projectId, iid), 'created_ms, id', LISTED_MAX);
  }

  async add(projectId: string, iid: number, author: User, text: string): Promise<Note> {
    const body = text.trim();
    if (body === '') throw new RequestRefused('bad_request', 'Enter a note.', 'body');
    if (body.length > NOTE_CHARACTERS_MAX) {
      throw new RequestRefused('bad_request', `Enter at most ${NOTE_CHARACTERS_MAX} characters.`, 'body');
    }
    const known = await this.#records.findWithout('body', isOf(projectId, iid), 'id', NOTES_MAX);
    if (known.length >= NOTES_MAX) {
      throw new RequestRefused('bad_request', `An alert can have up to ${NOTES_MAX} notes.`, 'body');
    }
    const note = {
      id: newLocator(),
      expires_ms: 0,
      alert: `${projectId}/${iid}`,
      author_id: author.id,
      body,
      created_ms: this.#clock.now(),
      deleted_ms: 0,
    };
    await this.#records.add(note);
    return { ...note, version: 1 };
  }

  async delete(projectId: string, iid: number, user: User, id: string): Promise<void> {
    await this.#records.change(id, (current) => {
      const isHere = current !== null && current.alert === `${projectId}/${iid}` && current.deleted_ms === 0;
      if (!isHere) throw new RequestRefused('not_found', 'Note Not Found');
      if (current.author_id !== user.id)
        throw new RequestRefused('forbidden', 'Only the author of a note can delete it.');
      return { next: { ...current, deleted_ms: this.#clock.now() }, result: undefined };
    });
  }
}
