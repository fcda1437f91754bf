import { isWebUrl } from './escape.ts';
import { type MessageAlert, type MessageEvent, type PageMessage, testMessage } from './message.ts';
import type { TemplateData } from './template-writer.ts';
import { firstAlert } from './texts.ts';

/** Limit of the labels of an alert in the data of templates. */
const LABELS_MAX = 64;

/** The context of a template. */
export function templateData(message: PageMessage): TemplateData {
  const { event, page, project, user, acknowledgeUrl, more, duplicatePossible } = message;
  return {
    event,
    alert: alertData(firstAlert(message)),
    alerts: message.alerts.map(alertData),
    more,
    page,
    project,
    user: user ?? '',
    acknowledge_url: acknowledgeUrl,
    duplicate_possible: duplicatePossible,
  };
}

/** Leaves out a runbook that is not a web URL, because templates put it into links. */
const alertData = ({ labels, hosts, runbook, ...alert }: MessageAlert): TemplateData => ({
  ...alert,
  runbook: isWebUrl(runbook) ? runbook : '',
  hosts,
  labels: labels.slice(0, LABELS_MAX),
});

const ALERT: MessageAlert = {
  iid: 42,
  title: 'Disk of db-7 is full',
  description: 'Only 2 % are free.\nThe database stops at 0 %.',
  severity: 'critical',
  status: 'triggered',
  service: 'Database',
  environment: 'Production',
  tool: 'Prometheus',
  hosts: ['db-7', 'db-8'],
  labels: [
    { name: 'alertname', value: 'DiskFull' },
    { name: 'instance', value: 'db-7' },
  ],
  count: 3,
  started_at: '2027-03-22T08:00:00.000Z',
  url: 'https://metrics.example/projects/7/alerts/42',
  runbook: 'https://runbooks.example/disk',
};

const sample = (event: MessageEvent, fields: Partial<PageMessage>): PageMessage => ({
  key: 'sample',
  event,
  project: { id: 7, name: 'Validators' },
  alerts: [ALERT],
  more: 0,
  page: { round: 1, step: 2, policy: 'Night', reason: '', by: '' },
  user: null,
  acknowledgeUrl: '',
  duplicatePossible: false,
  ...fields,
});

/** A message with a value for each name. In JSON, a value after a backslash would be a broken escape. */
export const FULL_SAMPLE = sample('triggered', {
  alerts: [ALERT, { ...ALERT, iid: 43, title: 'Disk of db-8 is full', severity: 'high' }],
  more: 12,
  page: { round: 1, step: 2, policy: 'Night', reason: 'Nobody was reached', by: 'Alice' },
  user: { name: 'Alice' },
  acknowledgeUrl: 'https://metrics.example/acknowledge/AbC.dEf',
  duplicatePossible: true,
});

/** Messages that a template must render: a bundle, a single alert, its end, and a test with empty values. */
export const SAMPLES: readonly PageMessage[] = [
  FULL_SAMPLE,
  sample('triggered', {}),
  sample('resolved', { page: { round: 1, step: 2, policy: 'Night', reason: '', by: 'Alice' } }),
  testMessage({
    ...{ key: 'sample', project: { id: 7, name: 'Validators' }, user: null },
    ...{ publicUrl: 'https://metrics.example', now: Date.UTC(2027, 2, 22, 8) },
  }),
];
