import { HOUR_MS } from '../../../infra/days.ts';
import type { AlertSettings } from './settings.ts';

/** Rules for parsing the body of a delivery. */
export interface ParsingRules {
  /** Deepest nesting of a body. */
  readonly depth: number;
  readonly titleCharacters: number;
  readonly descriptionCharacters: number;
  /** Longest Markdown that an alert adds to its incident. */
  readonly markdownCharacters: number;
}

/** Rules for recognizing retries. */
export interface GroupingRules {
  /** Time after a delivery within which an equal delivery counts as a retry. */
  readonly retryWindowMs: number;
  /** The same for deliveries with an idempotency key. */
  readonly namedWindowMs: number;
}

/** The rules that are stored with an event, so that every process gets the same result. */
export type EventRules = ParsingRules & GroupingRules;

type RuleSettings = Pick<
  AlertSettings,
  'ALERT_DEPTH_MAX' | 'ALERT_TITLE_CHARACTERS' | 'ALERT_RETRY_WINDOW_SECONDS' | 'ALERT_IDEMPOTENCY_HOURS'
>;

const DESCRIPTION_CHARACTERS = 1000;
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
