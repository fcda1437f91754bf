import type { Severity } from './alert.ts';
import type { Path } from './mapping.ts';

/**
 * How an integration reads what its sender cannot change. Texts are compared trimmed and without case, numbers and
 * booleans as JSON writes them.
 */
export interface SenderRules {
  /** Texts at `path` that do not fire; all others do. */
  readonly status?: {
    readonly path: Path;
    readonly resolved: readonly string[];
    readonly acknowledged: readonly string[];
    readonly ignored: readonly string[];
  };
  /** The first list of paths without a blank value is the fingerprint. */
  readonly fingerprint?: readonly (readonly Path[])[];
  readonly severity?: {
    readonly path: Path;
    readonly words: Readonly<Record<string, Severity>>;
    readonly otherwise: Severity;
  };
  readonly labels?: Readonly<Record<string, Path>>;
}
