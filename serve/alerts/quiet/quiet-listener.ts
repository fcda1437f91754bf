import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';

/** Is called after a silence or a maintenance window was stored, so that pages follow it at once. */
export interface QuietListener {
  /** Alerts that match may be quiet from now on. */
  began(projectId: string, matchers: readonly Matcher[]): Promise<void>;
  /** Alerts of the project may be quiet no longer. */
  ended(projectId: string): Promise<void>;
}
