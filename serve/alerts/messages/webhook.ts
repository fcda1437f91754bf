import type { MessageAlert, PageMessage } from './message.ts';
import { renderBody } from './templates.ts';

/**
 * The body for a `webhook` destination. A template that renders no JSON is replaced by the built-in body, so that no
 * page is lost.
 */
export function webhookBody(message: PageMessage, template = ''): unknown {
  if (template === '') return builtInBody(message);
  const fault = 'the template gave no JSON for this message';
  return renderBody(template, message) ?? { ...builtInBody(message), template_fault: fault };
}

/** Alerts have the names that outgoing webhooks and the API give them. */
function builtInBody(message: PageMessage): object {
  const { event, project, alerts, more, page, user, acknowledgeUrl, duplicatePossible } = message;
  const all = alerts.map((alert) => alertAttributes(alert, project.id));
  return {
    object_kind: 'page',
    event,
    page,
    project,
    object_attributes: all[0],
    alerts: all,
    more,
    recipients: user === null ? [] : [{ name: user.name }],
    ...(acknowledgeUrl === '' ? {} : { acknowledge_url: acknowledgeUrl }),
    duplicate_possible: duplicatePossible,
  };
}

const alertAttributes = (alert: MessageAlert, project_id: number) => ({
  iid: alert.iid,
  project_id,
  title: alert.title,
  description: alert.description,
  severity: alert.severity,
  status: alert.status,
  service: alert.service,
  monitoring_tool: alert.tool,
  hosts: alert.hosts,
  environment: alert.environment,
  labels: alert.labels.map(({ name, value }) => `${name}=${value}`),
  event_count: alert.count,
  started_at: alert.started_at || null,
  runbook: alert.runbook || null,
  web_url: alert.url,
});
