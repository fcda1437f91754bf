import type { DeliveryHead } from '../../../aggregate/alerts/model/event.ts';

/** A route of the webhook receiver. Each accepts the bodies of both formats. */
export interface IntakeEndpoint {
  /** Selects the parser. It is stored with each delivery, so that a replay parses it alike. */
  readonly parser: DeliveryHead['endpoint'];
  readonly path: string;
  /** For the API documentation. */
  readonly summary: string;
  readonly description: string;
  readonly example: object;
}

/** A setting that only some types have; every integration has a name, a heartbeat and whether it is active. */
interface SettingField {
  readonly name: 'api_url' | 'topics';
  readonly label: string;
  readonly hint: string;
  readonly isRequired: boolean;
}

export interface IntegrationType {
  /** As it is stored. */
  readonly name: string;
  /** As the API writes it. */
  readonly apiName: string;
  readonly label: string;
  readonly endpoint: IntakeEndpoint;
  readonly settings: readonly SettingField[];
  readonly hasMapping: boolean;
  readonly newKey: () => string;
  /** Name of the preset that its integrations begin with if no other one is chosen. */
  readonly preset?: string;
  /** Whether the free plan includes only one; each further one of the premium plan needs a name of its own. */
  readonly isLimitedByPlan: boolean;
}
