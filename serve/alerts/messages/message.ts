import type { Alert, AlertStatus, Severity } from '../../../aggregate/alerts/model/alert.ts';

/** An alert in a message. The sender can write any text into it. */
export interface MessageAlert {
  readonly iid: number;
  readonly title: string;
  readonly description: string;
  readonly severity: Severity;
  readonly status: AlertStatus;
  readonly service: string;
  readonly environment: string;
  readonly tool: string;
  readonly hosts: readonly string[];
  readonly labels: readonly { readonly name: string; readonly value: string }[];
  readonly count: number;
  /** RFC 3339; '' for none. */
  readonly started_at: string;
  /** URL of the page of the alert. */
  readonly url: string;
  readonly runbook: string;
}

export type MessageEvent = 'triggered' | 'acknowledged' | 'resolved' | 'exhausted' | 'test';

/** A message to a destination, as plain data. */
export interface PageMessage {
  /** PROJECT/ID of the first notification. The same for each attempt, so receivers can detect duplicates. */
  readonly key: string;
  readonly event: MessageEvent;
  readonly project: { readonly id: number; readonly name: string };
  /** From 1 to 20, the most severe first. */
  readonly alerts: readonly MessageAlert[];
  /** Number of alerts that are not listed. */
  readonly more: number;
  readonly page: {
    readonly round: number;
    readonly step: number;
    /** Name of the policy. */
    readonly policy: string;
    /** The reason of an exhausted page, such as `nobody was reached`. */
    readonly reason: string;
    /** Name of the user who acknowledged or resolved; '' for the source. */
    readonly by: string;
  };
  /** The owner of the contact; null for a channel. */
  readonly user: { readonly name: string } | null;
  /** '' except in messages to a person about new pages (`triggered`). */
  readonly acknowledgeUrl: string;
  /** True if an earlier attempt may have been accepted. */
  readonly duplicatePossible: boolean;
}

export const messageAlertOf = (alert: Alert, publicUrl: string): MessageAlert => ({
  iid: alert.iid,
  title: alert.title,
  description: alert.description,
  severity: alert.severity,
  status: alert.status,
  service: alert.service,
  environment: alert.environment,
  tool: alert.tool,
  hosts: alert.hosts,
  labels: alert.labels.map(labelOf),
  count: alert.events,
  started_at: alert.started_ms === 0 ? '' : new Date(alert.started_ms).toISOString(),
  url: `${publicUrl}/projects/${alert.project}/alerts/${alert.iid}`,
  runbook: alert.runbook,
});

function labelOf(text: string): { name: string; value: string } {
  const [name = '', ...value] = text.split('=');
  return { name, value: value.join('=') };
}

/** A message that tests a destination. */
export const testMessage = ({
  key,
  project,
  user,
  publicUrl,
  now,
}: Pick<PageMessage, 'key' | 'project' | 'user'> & {
  readonly publicUrl: string;
  readonly now: number;
}): PageMessage => ({
  key,
  event: 'test',
  project,
  alerts: [
    {
      iid: 0,
      title: 'Test of this destination',
      description: 'This is an example. No alert was created.',
      severity: 'info',
      status: 'triggered',
      service: 'example service',
      environment: '',
      tool: 'Chain Metrics',
      hosts: ['example-host'],
      labels: [],
      count: 1,
      started_at: new Date(now).toISOString(),
      url: publicUrl,
      runbook: '',
    },
  ],
  more: 0,
  page: { round: 1, step: 1, policy: '', reason: '', by: '' },
  user,
  acknowledgeUrl: '',
  duplicatePossible: false,
});
