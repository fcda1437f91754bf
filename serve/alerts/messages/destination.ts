export const DESTINATION_TYPES = ['email', 'slack', 'teams', 'pagerduty', 'telegram', 'webhook'] as const;
export type DestinationType = (typeof DESTINATION_TYPES)[number];

/** A person's contact or a project's channel, with its settings decrypted. */
export interface Destination {
  readonly id: string;
  readonly type: DestinationType;
  readonly isChannel: boolean;
  readonly settings: Readonly<Record<string, string>>;
}
