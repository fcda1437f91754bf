import type { MessageAlert, PageMessage } from './message.ts';
import { renderBody } from './templates.ts';

/**
 * The body for a `webhook` destination. If the template does not render valid JSON, the built-in body is sent, so no
 * page is lost.
 */
export function webhookBody(message: PageMessage, template = ''): unknown {
  if (template === '') return builtInBody(message);
  const fault = 'the template did not render valid JSON for this message';
  return renderBody(template, message) ?? { ...builtInBody(message), template_fault: fault };
}

/** Alerts have the field names of outgoing webhooks and the API. */
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
