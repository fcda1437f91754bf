import { BodyError } from '../../../aggregate/alerts/formats/delivery.ts';
import type { AlertItem, Outcome } from '../../../aggregate/alerts/model/alert.ts';
import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { emptyState } from '../../../aggregate/alerts/reducer/project-state.ts';
import { reduceEvent } from '../../../aggregate/alerts/reducer/reduce.ts';
import type { Store } from '../../../infra/ports.ts';
import type { IntegrationSummary } from '../model/tables.ts';
import { ReceivedDeliveries } from './received-deliveries.ts';

/** An alert in a delivery, as the rules would read it. */
export interface RuleTrialItem {
  readonly at: number;
  readonly outcome: Outcome;
  /** Null if the delivery or this item is refused. */
  readonly item: AlertItem | null;
}

const DELIVERIES_MAX = 20;
/** A delivery of Prometheus may have thousands of alerts. */
const ITEMS_MAX = 100;

/**
 * Applies other rules to the newest deliveries of an integration. Reduces the deliveries in the order of arrival, as if
 * no alert was open before. Returns the newest first, and stores nothing.
 */
export async function tryRules(
  { pipeline, store }: { readonly pipeline: AlertPipeline; readonly store: Pick<Store, 'rows'> },
  integration: Pick<IntegrationSummary, 'id' | 'project_id'>,
  rules: SenderRules,
): Promise<RuleTrialItem[]> {
  const received = new ReceivedDeliveries({ store, pipeline });
  const newest = await received.bodies(integration, DELIVERIES_MAX);
  const state = emptyState(Number(integration.project_id));
  const tried = newest.reverse().flatMap(({ head: stored, body }): RuleTrialItem[] => {
    const head = { ...stored, sender_rules: rules };
    try {
      const delivery = pipeline.parse(head, body);
      const { outcomes } = reduceEvent(state, { head, delivery });
      return outcomes.map((outcome, i) => ({ at: head.at, outcome, item: delivery.items[i] ?? null }));
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return [{ at: head.at, outcome: 'refused', item: null }];
    }
  });
  return tried.reverse().slice(0, ITEMS_MAX);
}
