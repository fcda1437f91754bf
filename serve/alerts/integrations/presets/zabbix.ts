import type { Preset } from './preset.ts';

/** Sends the other parameters as JSON. Zabbix retries after a status other than 200. */
const SCRIPT = `var params = JSON.parse(value);
var url = params.url;
var request = new HttpRequest();
request.addHeader('Content-Type: application/json');
request.addHeader('Authorization: Bearer ' + params.key);
delete params.url;
delete params.key;
var answer = request.post(url, JSON.stringify(params));
if (request.getStatus() !== 200) throw request.getStatus() + ' ' + answer;
return 'OK';`;

/** Values of the parameters by name. `status` combines the event value, the update flag and the acknowledgement. */
const PARAMETERS: Readonly<Record<string, string>> = {
  status: '{EVENT.VALUE} {EVENT.UPDATE.STATUS} {EVENT.ACK.STATUS}',
  event_id: '{EVENT.ID}',
  title: '{EVENT.NAME}',
  description: '{ALERT.MESSAGE}',
  severity: '{EVENT.NSEVERITY}',
  hosts: '{HOST.NAME}',
  host_groups: '{TRIGGER.HOSTGROUP.NAME}',
  trigger_id: '{TRIGGER.ID}',
  runbook: '{TRIGGER.URL}',
  event_tags: '{EVENT.TAGS}',
};

const indented = (text: string, spaces: number) => text.replaceAll(/^/gm, ' '.repeat(spaces));
const parameter = ([name, value]: readonly [string, string]) => `- name: ${name}\n  value: '${value}'`;
const template = (mode: string, message: string) =>
  `- event_source: TRIGGERS\n  operation_mode: ${mode}\n  subject: '{EVENT.NAME}'\n  message: '${message}'`;

export const zabbix: Preset = {
  name: 'zabbix',
  label: 'Zabbix',
  type: 'http',
  rules: {
    tool: 'Zabbix',
    status: {
      path: ['status'],
      resolved: ['0 0 No', '0 0 Yes', '0 1 No', '0 1 Yes'],
      acknowledged: ['1 1 Yes'],
      ignored: [],
    },
    fingerprint: [[['event_id']]],
    severity: {
      path: ['severity'],
      words: { '5': 'critical', '4': 'high', '3': 'medium', '2': 'low', '1': 'info' },
      otherwise: 'unknown',
    },
  },
  sample: {
    status: '1 0 No',
    event_id: '4711',
    title: 'Linux: High CPU utilization (over 90% for 5m)',
    description: 'Current utilization: 97.4 %',
    severity: '2',
    hosts: 'web-3',
    host_groups: 'Linux servers',
    trigger_id: '23511',
    runbook: '',
    event_tags: 'scope:performance, service:shop',
  },
  setup: ({ generic, key }) => ({
    title: 'Zabbix media type',
    hint: 'Import this file in Alerts, Media types. Add the media type to a user, and let an action send its problem, recovery and update operations to that user.',
    text: `zabbix_export:
  version: '6.0'
  media_types:
    - name: Chain Metrics
      type: WEBHOOK
      parameters:
${indented([['url', generic] as const, ['key', key] as const, ...Object.entries(PARAMETERS)].map(parameter).join('\n'), 8)}
      script: |
${indented(SCRIPT, 8)}
      message_templates:
${indented([template('PROBLEM', '{EVENT.OPDATA}'), template('RECOVERY', '{EVENT.OPDATA}'), template('UPDATE', '{EVENT.UPDATE.MESSAGE}')].join('\n'), 8)}
`,
  }),
};
