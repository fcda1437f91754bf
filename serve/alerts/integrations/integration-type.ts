import type { DeliveryHead } from '../../../aggregate/alerts/model/event.ts';

/** A route of the webhook receiver. The routes of `http` and `prometheus` accept the bodies of both formats. */
export interface IntakeEndpoint {
  /** Selects the parser. Stored with each delivery, so a replay uses the same parser. */
  readonly parser: DeliveryHead['endpoint'];
  readonly path: string;
  /** For the API documentation. */
  readonly summary: string;
  readonly description: string;
  readonly example: object;
}

/** A setting that only some types have. All types have a name, a heartbeat and an active flag. */
interface SettingField {
  readonly name: 'api_url' | 'topics';
  readonly label: string;
  readonly hint: string;
  readonly isRequired: boolean;
}

export interface IntegrationType {
  /** Name in stored rows. */
  readonly name: string;
  /** Name in the API. */
  readonly apiName: string;
  readonly label: string;
  readonly endpoint: IntakeEndpoint;
  readonly settings: readonly SettingField[];
  readonly hasMapping: boolean;
  readonly newKey: () => string;
  /** Name of the default preset of new integrations. */
  readonly preset?: string;
  /** True: the free plan includes one integration of this type. With the premium plan, each additional one needs a name. */
  readonly isLimitedByPlan: boolean;
}
