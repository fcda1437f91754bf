export const DESTINATION_TYPES = ['email', 'slack', 'teams', 'pagerduty', 'telegram', 'webhook'] as const;
export type DestinationType = (typeof DESTINATION_TYPES)[number];

/** Replaces the built-in texts of a destination. '' keeps a built-in text. */
export interface MessageTemplate {
  readonly title: string;
  readonly text: string;
  /** JSON. */
  readonly body: string;
}

/** A person's contact or a project's channel, with its settings decrypted. */
export interface Destination {
  readonly id: string;
  readonly type: DestinationType;
  readonly isChannel: boolean;
  readonly settings: Readonly<Record<string, string>>;
  /** Absent if the destination uses the built-in texts. */
  readonly template?: MessageTemplate;
}
