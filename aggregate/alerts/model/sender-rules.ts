import type { Severity } from './alert.ts';
import type { Path } from './mapping.ts';

/** Mapped fields that rules can read from several places; fingerprint and severity have rules of their own. */
export const RULED_FIELDS = [
  'title',
  'description',
  'start_time',
  'end_time',
  'service',
  'monitoring_tool',
  'hosts',
  'environment',
] as const;
export type RuledField = (typeof RULED_FIELDS)[number];

/** How to read the payloads of a sender that cannot be changed. Words are compared trimmed and without case. */
export interface SenderRules {
  /** Name of the tool, for payloads that have none. */
  readonly tool?: string;
  /** Where fields are: the first path with a value that is not blank. A custom mapping takes precedence. */
  readonly fields?: Readonly<Partial<Record<RuledField, readonly Path[]>>>;
  /** Maps words at `path` to effects. Any other word fires. */
  readonly status?: {
    readonly path: Path;
    readonly resolved: readonly string[];
    readonly acknowledged: readonly string[];
    readonly ignored: readonly string[];
  };
  /** Alternatives, each a list of paths. The first without a blank value counts. */
  readonly fingerprint?: readonly (readonly Path[])[];
  readonly severity?: {
    readonly path: Path;
    readonly words: Readonly<Record<string, Severity>>;
    readonly otherwise: Severity;
  };
  /** Labels by name. */
  readonly labels?: Readonly<Record<string, Path>>;
}
