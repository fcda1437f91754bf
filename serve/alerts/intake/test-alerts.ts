import { BodyError } from '../../../aggregate/alerts/formats/delivery.ts';
import type { Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { EventResult } from '../../../aggregate/alerts/processor/result-channel.ts';
import type { Store } from '../../../infra/ports.ts';
import { deliveryOf } from '../integrations/delivery.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import type { Integrations } from '../integrations/integrations.ts';
import { type RuleTrialItem, tryRules } from '../integrations/rule-trial.ts';
import { typeOf } from '../integrations/types.ts';
import { RequestRefused } from '../model/access.ts';
import type { Integration, Project } from '../model/tables.ts';
import { receive } from './intake.ts';
import { readEvent } from './pagerduty.ts';

interface TestAlertsDependencies {
  readonly integrations: Integrations;
  readonly cache: IntegrationCache;
  readonly pipeline: AlertPipeline;
  readonly payloadBytesMax: number;
}

/** Payloads that a member enters to try an integration. */
export class TestAlerts {
  readonly #integrations: Integrations;
  readonly #cache: IntegrationCache;
  readonly #pipeline: AlertPipeline;
  readonly #payloadBytesMax: number;

  constructor({ integrations, cache, pipeline, payloadBytesMax }: TestAlertsDependencies) {
    this.#integrations = integrations;
    this.#cache = cache;
    this.#pipeline = pipeline;
    this.#payloadBytesMax = payloadBytesMax;
  }

  /** Receives a payload like a request of a sender, so that it creates real alerts. */
  async send(project: Project, id: string, payload: string): Promise<EventResult> {
    const integration = await this.#integrations.get(project, id);
    if (!integration.is_active)
      throw new RequestRefused('conflict', 'The integration is inactive. Activate it first.', 'active');
    const body = Buffer.from(payload);
    if (body.length > this.#payloadBytesMax)
      throw new RequestRefused(
        'bad_request',
        `The payload is larger than ${this.#payloadBytesMax} bytes.`,
        'payload',
      );
    const entry = await this.#cache.find(id);
    if (entry === undefined) throw new RequestRefused('not_found', 'Integration Not Found');
    const { endpoint } = typeOf(integration);
    return refusing(async () => {
      const isEvent = endpoint.parser === 'pagerduty';
      return receive(this.#pipeline, entry, {
        endpoint,
        body: isEvent ? readEvent(this.#pipeline, body).body : body,
      });
    });
  }

  /** Applies unsaved rules to the newest deliveries, and stores nothing. */
  tryRules(
    store: Pick<Store, 'rows'>,
    integration: Pick<Integration, 'id' | 'project_id'>,
    rules: SenderRules,
  ): Promise<RuleTrialItem[]> {
    return tryRules({ pipeline: this.#pipeline, store }, integration, rules);
  }

  /** The alerts that a payload would create, without creating them; null for a refused item. */
  preview(integration: Integration, mapping: Mapping | null, payload: string) {
    const head = deliveryOf(integration, typeOf(integration).endpoint, { mapping });
    return refusing(async () => this.#pipeline.parse(head, Buffer.from(payload)).items);
  }
}

async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BodyError) throw new RequestRefused('bad_request', error.message, 'payload');
    throw error;
  }
}
