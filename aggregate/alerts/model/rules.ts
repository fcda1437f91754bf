import type { Config } from '../../../infra/config/config.ts';
import type { GroupingRules } from '../reducer/grouping.ts';
import type { FoldRules } from '../reducer/project-state.ts';
import type { DeliveryHead, DeliveryRules } from './event.ts';

/** How bodies are read, by the settings. */
export function deliveryRules(config: Config): DeliveryRules {
  return {
    depth: config.ALERT_DEPTH_MAX,
    titleCharacters: config.ALERT_TITLE_CHARACTERS,
    descriptionCharacters: config.ALERT_DESCRIPTION_CHARACTERS,
  };
}

/** How occurrences are grouped, by the settings. */
export function foldRules(config: Config): FoldRules {
  return {
    retryWindowMs: config.ALERT_RETRY_WINDOW_SECONDS * 1000,
    namedWindowMs: config.ALERT_IDEMPOTENCY_HOURS * 3_600_000,
    retryKeysMax: config.ALERT_RETRY_KEYS_MAX,
  };
}

/** What a delivery carries with it of the settings of whoever accepts it. */
export function acceptedRules(config: Config): DeliveryRules & GroupingRules {
  const { retryWindowMs, namedWindowMs } = foldRules(config);
  return { ...deliveryRules(config), retryWindowMs, namedWindowMs };
}

/** How a delivery is grouped: by the rules that it was accepted with, within the limits of whoever decides. */
export function groupingOf({ rules }: DeliveryHead, own: FoldRules): FoldRules {
  return rules === undefined
    ? own
    : {
        ...own,
        retryWindowMs: rules.retryWindowMs,
        namedWindowMs: rules.namedWindowMs,
      };
}
