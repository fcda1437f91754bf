import type { SenderRules } from '../../../../aggregate/alerts/model/sender-rules.ts';

/** The URLs and the key of an integration. The generic URL and the Prometheus URL accept the bodies of both formats. */
export interface IntegrationAccess {
  readonly id: string;
  /** `generic` is for tools with a JSON format of their own, `prometheus` for tools that send the Prometheus format. */
  readonly generic: string;
  readonly prometheus: string;
  readonly pagerduty: string;
  readonly key: string;
}

/** A complete configuration of a sender. */
export interface Snippet {
  readonly name: string;
  readonly title: string;
  /** Place of the snippet in the sender, and its effect. */
  readonly hint: string;
  readonly text: string;
}

/** Rules for a common sender. An integration gets a copy, which members may change. */
export interface Preset {
  /** Name in stored rows and in the API. */
  readonly name: string;
  readonly label: string;
  /** Name of the integration type that receives from this sender. */
  readonly type: string;
  readonly rules: SenderRules;
  /** A payload as the sender's documentation shows it. */
  readonly sample: object;
  readonly setup: (access: IntegrationAccess) => Omit<Snippet, 'name'>;
  /** Header with the HMAC-SHA256 of the body in hexadecimal, for a sender that signs instead of sending the key. */
  readonly signatureHeader?: string;
}
