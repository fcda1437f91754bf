import { oneLine, truncate } from '../../../aggregate/alerts/formats/values.ts';
import type { Severity } from '../../../aggregate/alerts/model/alert.ts';
import { isWebUrl } from './escape.ts';
import type { MessageAlert, MessageEvent, PageMessage } from './message.ts';
import type { RenderedTexts } from './templates.ts';
import { firstAlert, headlineOf } from './texts.ts';

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';
const SUMMARY_CHARACTERS = 1024;

const ACTIONS: Readonly<Record<MessageEvent, string>> = {
  triggered: 'trigger',
  acknowledged: 'acknowledge',
  resolved: 'resolve',
  exhausted: 'trigger',
  test: 'trigger',
};
const SEVERITIES: Readonly<Record<Severity, string>> = {
  critical: 'critical',
  high: 'error',
  unknown: 'error',
  medium: 'warning',
  low: 'warning',
  info: 'info',
};

/** An event of the Events API v2, always for one alert: bundles are not sent to PagerDuty. */
export function pagerdutyBody(message: PageMessage, routingKey: string, texts: RenderedTexts = {}): object {
  const alert = firstAlert(message);
  const { hosts, tool, service: component, environment: group } = alert;
  const builtIn = message.event === 'test' ? `[test] ${headlineOf(message)}` : oneLine(alert.title);
  const payload = {
    summary: truncate(texts.title ?? builtIn, SUMMARY_CHARACTERS),
    source: hosts[0] || tool || 'Chain Metrics',
    severity: SEVERITIES[alert.severity],
    ...(alert.started_at === '' ? {} : { timestamp: alert.started_at }),
    ...{ component, group, class: tool },
    custom_details: Object.fromEntries(alert.labels.map(({ name, value }) => [name, value])),
  };
  return {
    routing_key: routingKey,
    event_action: ACTIONS[message.event],
    dedup_key: `chain-metrics/${message.project.id}/${alert.iid === 0 ? message.event : alert.iid}`,
    payload,
    links: linksOf(alert),
    client: 'Chain Metrics',
    client_url: alert.url,
  };
}

const linksOf = ({ url, runbook }: MessageAlert) => [
  { href: url, text: 'Alert' },
  ...(isWebUrl(runbook) ? [{ href: runbook, text: 'Runbook' }] : []),
];
