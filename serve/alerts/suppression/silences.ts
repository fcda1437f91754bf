import { randomUUID } from 'node:crypto';
import { visible } from '../../../aggregate/alerts/formats/values.ts';
import { isIndexed } from '../../../aggregate/alerts/matchers/matcher-list.ts';
import { Hourly } from '../../../infra/coordination/hourly.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { type Sql, sql } from '../../../infra/sql.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { SilenceRow } from '../model/suppression-tables.ts';
import {
  canUpdate,
  type Silence,
  type SilenceFields,
  type SilenceState,
  silenceOf,
  silenceState,
} from './silence.ts';
import type { SilenceCache } from './silence-cache.ts';

/** Limit of the active and pending silences of a project. */
const SILENCES_MAX = 10_000;
/** Limit of the silences without an equality matcher, which are compared with every alert. */
const UNINDEXED_MAX = 1000;
const COMMENT_CHARACTERS_MAX = 1000;
const CREATOR_CHARACTERS_MAX = 255;
const ANNOTATIONS_BYTES_MAX = 4 * 1024;
/** Silences per query when a client reads all of them. */
const PART = 500;
/** The last moment of the year 9999. */
const TIME_MAX = 253_402_300_799_999;

interface SilencesDependencies {
  readonly records: Records<SilenceRow>;
  readonly store: Pick<Store, 'rows'>;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly cache: SilenceCache;
  /** Called after a change is stored: updates pages at once. */
  readonly onChanged: (projectId: string) => void;
  /** Hours from the end of a silence to its deletion. */
  readonly retentionHours: number;
}

/** The silences of projects. */
export class Silences {
  readonly #deps: SilencesDependencies;
  #hourly: Hourly | undefined;

  constructor(dependencies: SilencesDependencies) {
    this.#deps = dependencies;
  }

  /** Deletes silences hourly, RETENTION_SILENCES_HOURS after their end. */
  start(onFailure: (error: unknown) => void): void {
    const { locks, records } = this.#deps;
    this.#hourly = new Hourly(
      () => locks.tryRun('silence-retention', () => records.removeExpired()),
      onFailure,
    );
    this.#hourly.start();
  }

  stop(): void {
    this.#hourly?.stop();
  }

  /** Silences in some states: active by end, then pending by start, then expired, newest first. */
  async list(
    projectId: string,
    states: readonly SilenceState[],
    page: { readonly number: number; readonly size: number },
  ): Promise<{ readonly silences: readonly Silence[]; readonly total: number }> {
    const { clock, records, store } = this.#deps;
    const now = clock.now();
    const where = sql`project_id = ${projectId} AND expires_ms > ${now}
      AND ${stateOf(now)} IN ${states}`;
    const order = sql`indexOf(['active', 'pending', 'expired'], ${stateOf(now)}),
      multiIf(ends_ms <= ${now}, -ends_ms, starts_ms > ${now}, starts_ms, ends_ms), id`;
    const [rows, [counted]] = await Promise.all([
      store.rows<SilenceRow>(sql`SELECT * FROM ${records.table} FINAL WHERE ${where}
        ORDER BY ${order} LIMIT ${page.size} OFFSET ${(page.number - 1) * page.size}`),
      store.rows<{ total: number }>(sql`SELECT count() AS total FROM ${records.table} FINAL WHERE ${where}`),
    ]);
    return { silences: rows.map(silenceOf), total: counted?.total ?? 0 };
  }

  /** All silences in some states in the order of `list`, in parts. */
  async *inParts(projectId: string, states: readonly SilenceState[]): AsyncGenerator<readonly Silence[]> {
    for (let number = 1; ; number++) {
      const { silences } = await this.list(projectId, states, { number, size: PART });
      yield silences;
      if (silences.length < PART) return;
    }
  }

  async find(projectId: string, id: string): Promise<Silence | null> {
    const row = await this.#deps.records.get(id);
    const now = this.#deps.clock.now();
    if (row === null || row.project_id !== projectId || row.expires_ms <= now) return null;
    return silenceOf(row);
  }

  async get(projectId: string, id: string): Promise<Silence> {
    const silence = await this.find(projectId, id);
    if (silence === null) throw notFound();
    return silence;
  }

  create(projectId: string, author: string, fields: SilenceFields): Promise<Silence> {
    return this.#withLock(projectId, () => this.#add(projectId, author, fields));
  }

  /** Changes a silence. If the change needs a new silence, stores it before the old one ends, so there is no gap. */
  change(projectId: string, id: string, author: string, fields: SilenceFields): Promise<Silence> {
    return this.#withLock(projectId, async () => {
      const before = await this.get(projectId, id);
      const now = this.#deps.clock.now();
      if (canUpdate(before, fields, now)) {
        const starts_ms = silenceState(before, now) === 'active' ? before.starts_ms : fields.starts_ms;
        return this.#replace({ ...before, ...validFields({ ...fields, starts_ms }, now), starts_ms }, author);
      }
      const next = await this.#add(projectId, author, fields);
      await this.#end(before, author);
      return next;
    });
  }

  async end(projectId: string, id: string, author: string): Promise<void> {
    await this.#withLock(projectId, async () => this.#end(await this.get(projectId, id), author));
  }

  /** The lock makes the count and the insert one step. */
  async #withLock<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    return this.#deps.locks.run(`silences/${projectId}`, work);
  }

  async #add(projectId: string, author: string, input: SilenceFields): Promise<Silence> {
    const { clock, records } = this.#deps;
    const now = clock.now();
    const fields = validFields(input, now);
    await this.#requireRoom(projectId, fields, now);
    const times = { created_ms: now, updated_ms: now };
    const silence = { ...fields, ...times, id: randomUUID(), project_id: projectId, author_id: author };
    await records.add(this.#rowOf(silence));
    await this.#announce(silence);
    return silence;
  }

  async #end(silence: Silence, author: string): Promise<void> {
    const now = this.#deps.clock.now();
    if (silenceState(silence, now) === 'expired') return;
    await this.#replace({ ...silence, starts_ms: Math.min(silence.starts_ms, now), ends_ms: now }, author);
  }

  async #replace(silence: Silence, author: string): Promise<Silence> {
    const { records, clock } = this.#deps;
    const next = { ...silence, author_id: author, updated_ms: clock.now() };
    await records.change(next.id, () => ({ next: this.#rowOf(next), result: undefined }));
    await this.#announce(next);
    return next;
  }

  async #announce(silence: Silence): Promise<void> {
    const { cache, onChanged } = this.#deps;
    await cache.invalidate(silence.project_id);
    onChanged(silence.project_id);
  }

  #rowOf(silence: Silence): Omit<SilenceRow, 'version'> {
    const { retentionHours } = this.#deps;
    return {
      ...silence,
      matchers: JSON.stringify(silence.matchers),
      is_indexed: silence.matchers.some(isIndexed),
      annotations: JSON.stringify(silence.annotations),
      expires_ms: silence.ends_ms + retentionHours * HOUR_MS,
    };
  }

  async #requireRoom(projectId: string, { matchers }: SilenceFields, now: number): Promise<void> {
    const { store, records } = this.#deps;
    const [row] = await store.rows<{ total: number; unindexed: number }>(
      sql`SELECT count() AS total, countIf(NOT is_indexed) AS unindexed FROM ${records.table} FINAL
        WHERE project_id = ${projectId} AND ends_ms > ${now}`,
    );
    if ((row?.total ?? 0) >= SILENCES_MAX) {
      throw new RequestRefused(
        'conflict',
        `A project can have up to ${SILENCES_MAX} active and pending silences. End one first.`,
      );
    }
    if (!matchers.some(isIndexed) && (row?.unindexed ?? 0) >= UNINDEXED_MAX) {
      throw new RequestRefused(
        'conflict',
        `A project can have up to ${UNINDEXED_MAX} silences without a matcher of the form name="value". Add such a matcher, or end one of them first.`,
        'matchers',
      );
    }
  }
}

const notFound = () => new RequestRefused('not_found', 'Silence Not Found');

const stateOf = (now: number): Sql =>
  sql`multiIf(ends_ms <= ${now}, 'expired', starts_ms > ${now}, 'pending', 'active')`;

function validFields(input: SilenceFields, now: number): SilenceFields {
  const refused = (text: string, field: string) => new RequestRefused('bad_request', text, field);
  const { starts_ms, ends_ms, annotations } = input;
  if (ends_ms <= starts_ms) throw refused('The end must be after the start.', 'ends_at');
  if (ends_ms <= now) throw refused('The end must be in the future.', 'ends_at');
  if (ends_ms > TIME_MAX) throw refused('The end must be before the year 10000.', 'ends_at');
  const created_by = visible(input.created_by).trim();
  if (created_by.length > CREATOR_CHARACTERS_MAX)
    throw refused(`Enter at most ${CREATOR_CHARACTERS_MAX} characters.`, 'created_by');
  const comment = visible(input.comment).trim();
  if (comment.length > COMMENT_CHARACTERS_MAX)
    throw refused(`Enter at most ${COMMENT_CHARACTERS_MAX} characters.`, 'comment');
  if (Buffer.byteLength(JSON.stringify(annotations)) > ANNOTATIONS_BYTES_MAX)
    throw refused(`Annotations may take up to ${ANNOTATIONS_BYTES_MAX} bytes.`, 'annotations');
  return { ...input, starts_ms: Math.max(starts_ms, now), created_by, comment };
}
