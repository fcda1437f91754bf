import { HOUR_MS } from '../../../infra/days.ts';
import type { AlertSettings } from './settings.ts';

/** How the body of a delivery is parsed. */
export interface ParsingRules {
  /** Most levels of nesting that a body may have. */
  readonly depth: number;
  readonly titleCharacters: number;
  readonly descriptionCharacters: number;
  /** Of the Markdown that an alert adds to its incident. */
  readonly markdownCharacters: number;
}

/** How occurrences are deduplicated. */
export interface GroupingRules {
  /** Milliseconds from the first delivery in which the same one counts as a retry. */
  readonly retryWindowMs: number;
  /** The same for deliveries with an idempotency key. */
  readonly namedWindowMs: number;
}

/** The rules that are stored with an event, so that every process decides on it alike. */
export type EventRules = ParsingRules & GroupingRules;

type RuleSettings = Pick<
  AlertSettings,
  'ALERT_DEPTH_MAX' | 'ALERT_TITLE_CHARACTERS' | 'ALERT_RETRY_WINDOW_SECONDS' | 'ALERT_IDEMPOTENCY_HOURS'
>;

/** Longer ones are truncated. */
const DESCRIPTION_CHARACTERS = 1000;
/** Of what an alert adds to its incident. */
const MARKDOWN_CHARACTERS = 20_000;

function parsingRules(settings: RuleSettings): ParsingRules {
  return {
    depth: settings.ALERT_DEPTH_MAX,
    titleCharacters: settings.ALERT_TITLE_CHARACTERS,
    descriptionCharacters: DESCRIPTION_CHARACTERS,
    markdownCharacters: MARKDOWN_CHARACTERS,
  };
}

export function groupingRules(settings: RuleSettings): GroupingRules {
  return {
    retryWindowMs: settings.ALERT_RETRY_WINDOW_SECONDS * 1000,
    namedWindowMs: settings.ALERT_IDEMPOTENCY_HOURS * HOUR_MS,
  };
}

export function eventRules(settings: RuleSettings): EventRules {
  return { ...parsingRules(settings), ...groupingRules(settings) };
}
