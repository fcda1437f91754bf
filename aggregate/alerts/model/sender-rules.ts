import type { Severity } from './alert.ts';
import type { Path } from './mapping.ts';

/** Fields that rules can read from several paths. Fingerprint and severity have their own rules. */
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

/** How to read the payloads of a sender with a fixed format. Words are compared trimmed and ignoring case. */
export interface SenderRules {
  /** Name of the tool, for payloads without one. */
  readonly tool?: string;
  /** Paths by field. The first value that is not blank counts. A custom mapping takes precedence. */
  readonly fields?: Readonly<Partial<Record<RuledField, readonly Path[]>>>;
  /** Maps words at `path` to effects. Any other word fires. */
  readonly status?: {
    readonly path: Path;
    readonly resolved: readonly string[];
    readonly acknowledged: readonly string[];
    readonly ignored: readonly string[];
  };
  /** Alternatives, each a list of paths. The first one without blank values counts. */
  readonly fingerprint?: readonly (readonly Path[])[];
  readonly severity?: {
    readonly path: Path;
    readonly words: Readonly<Record<string, Severity>>;
    readonly otherwise: Severity;
  };
  /** Paths of labels by name. */
  readonly labels?: Readonly<Record<string, Path>>;
}
