import type { Alert } from '../../../../aggregate/alerts/model/alert.ts';
import {
  type MessageAlert,
  messageAlertOf,
  type PageMessage,
} from '../../../../serve/alerts/messages/message.ts';

export const PUBLIC_URL = 'https://metrics.example.com';

const alert: Alert = {
  project: 7,
  iid: 42,
  fingerprint: 'f',
  integration: 'prometheus',
  title: 'Disk of node-7 is full',
  description: 'Only 2 % are free.\nThe database stops at 0 %.',
  severity: 'critical',
  status: 'triggered',
  service: 'database',
  tool: 'Prometheus',
  hosts: ['node-7', 'node-8'],
  environment: 'production',
  query: '',
  runbook: 'https://runbooks.example.com/disk',
  y_label: '',
  incident_markdown: '',
  labels: ['alertname=DiskFull', 'expr=a=b'],
  match_labels: {},
  has_cut_labels: false,
  started_ms: Date.UTC(2026, 2, 22, 8),
  source_started_ms: 0,
  ended_ms: 0,
  events: 3,
  created_ms: 0,
  seen_ms: 0,
  updated_ms: 0,
  acknowledged_ms: 0,
  assignees: [],
  incident: 0,
  created_position: 0,
  created_item: 0,
  position: 0,
};

export const madeAlert = (fields: Partial<Alert> = {}): MessageAlert =>
  messageAlertOf({ ...alert, ...fields }, PUBLIC_URL);

export const madeMessage = (fields: Partial<PageMessage> = {}): PageMessage => ({
  key: '42/night/1.1.1/c1/0',
  event: 'triggered',
  project: { id: 7, name: 'Validators' },
  alerts: [madeAlert()],
  more: 0,
  page: { round: 1, step: 2, policy: 'Night', reason: '', by: '' },
  user: null,
  acknowledgeUrl: '',
  duplicatePossible: false,
  ...fields,
});

/** Texts that a sender writes to get out of its place. */
export const HOSTILE = [
  '@channel @everyone <!here> <!subteam^S1|team> <@U123>',
  '<https://evil.example|your bank> [your bank](https://evil.example) [a]: https://evil.example',
  '**bold** _it_ `code` # head\n- item\n1. item\n> quote',
  '<script>alert(1)</script><img src=x onerror=alert(1)> & "quoted"',
  '{{DATE(2017-02-14T06:08:39Z,SHORT)}}',
  'Subject: x\r\nBcc: victim@example.org\r\n\r\nbody',
  'zero\u0000bell\u0007escape\u001b[31m right\u202eleft',
].join('\n');

/** The same, of 100 KB. */
export const HUGE = HOSTILE.repeat(Math.ceil(100_000 / HOSTILE.length));

/** A message all of whose texts are one text. */
export function messageOf(text: string, fields: Partial<PageMessage> = {}): PageMessage {
  const hostile = madeAlert({
    title: text,
    description: text,
    service: text,
    environment: text,
    tool: text,
    hosts: [text],
    labels: [`name=${text}`],
    runbook: text,
  });
  return madeMessage({
    project: { id: 7, name: text },
    alerts: [hostile],
    page: { round: 1, step: 1, policy: text, reason: text, by: text },
    ...fields,
  });
}
