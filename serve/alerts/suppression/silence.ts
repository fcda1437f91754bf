import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import type { SilenceRow } from '../model/suppression-tables.ts';

export const SILENCE_STATES = ['active', 'pending', 'expired'] as const;
export type SilenceState = (typeof SILENCE_STATES)[number];

/** Fields that a client sets. */
export interface SilenceFields {
  readonly matchers: readonly Matcher[];
  /** A time in the past means now. */
  readonly starts_ms: number;
  readonly ends_ms: number;
  /** Name of the creator, as the client sent it. `author_id` is the account that changed the silence last. */
  readonly created_by: string;
  readonly comment: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Silence extends SilenceFields {
  readonly id: string;
  readonly project_id: string;
  readonly author_id: string;
  readonly created_ms: number;
  readonly updated_ms: number;
}

export const silenceOf = (row: Omit<SilenceRow, 'version'>): Silence => ({
  id: row.id,
  project_id: row.project_id,
  matchers: JSON.parse(row.matchers) as Matcher[],
  starts_ms: row.starts_ms,
  ends_ms: row.ends_ms,
  created_by: row.created_by,
  author_id: row.author_id,
  comment: row.comment,
  annotations: JSON.parse(row.annotations) as Record<string, string>,
  created_ms: row.created_ms,
  updated_ms: row.updated_ms,
});

type Span = Pick<Silence, 'starts_ms' | 'ends_ms'>;

export function silenceState({ starts_ms, ends_ms }: Span, now: number): SilenceState {
  if (ends_ms <= now) return 'expired';
  return starts_ms <= now ? 'active' : 'pending';
}

/**
 * Alertmanager's `canUpdate`: an update keeps the id unless it changes the matchers or the past. Otherwise it creates a
 * new silence and expires the old one.
 */
export function canUpdate(before: Silence, after: SilenceFields, now: number): boolean {
  if (!isSameList(before.matchers, after.matchers)) return false;
  const second = (ms: number) => Math.floor(ms / 1000);
  switch (silenceState(before, now)) {
    case 'active':
      return second(before.starts_ms) === second(after.starts_ms) && after.ends_ms > now;
    case 'pending':
      return after.starts_ms > now;
    case 'expired':
      return false;
  }
}

function isSameList(a: readonly Matcher[], b: readonly Matcher[]): boolean {
  const sorted = (list: readonly Matcher[]) =>
    JSON.stringify(list.map(({ name, value, isRegex, isEqual }) => [name, value, isRegex, isEqual]).sort());
  return sorted(a) === sorted(b);
}
