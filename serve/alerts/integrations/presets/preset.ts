import type { SenderRules } from '../../../../aggregate/alerts/model/sender-rules.ts';

/** What an integration is reached by. The addresses of the generic format and of Prometheus take both formats. */
export interface IntegrationAccess {
  readonly id: string;
  /** For tools that send JSON of their own, and for those that send the format of Prometheus. */
  readonly generic: string;
  readonly prometheus: string;
  readonly pagerduty: string;
  readonly key: string;
}

/** A whole configuration of a sender, ready to be used. */
export interface Snippet {
  readonly name: string;
  readonly title: string;
  /** Where it goes, and what it does there. */
  readonly hint: string;
  readonly text: string;
}

/** Rules for a sender that many people have. An integration gets a copy of them, which its members may change. */
export interface Preset {
  /** As it is stored and as the API writes it. */
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
