import type { Config } from '../../infra/config.ts';
import type { DeliveryRules } from './delivery.ts';
import type { FoldRules } from './fold.ts';

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
