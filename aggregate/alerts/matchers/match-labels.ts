import type { Alert } from '../model/alert.ts';
import type { MatchLabels } from './matcher.ts';

/** Fields of an alert that matchers read. */
export type MatchedAlert = Pick<
  Alert,
  'title' | 'severity' | 'service' | 'environment' | 'tool' | 'hosts' | 'match_labels' | 'has_cut_labels'
>;

/**
 * The labels that matchers compare: labels of the sender, fields of the alert, and `cm_` labels. Labels of the sender
 * override fields of the alert, but not `cm_` labels.
 */
export function matchLabelsOf(alert: MatchedAlert, integrationName: string): MatchLabels {
  const { title, severity, service, environment, tool } = alert;
  const usual = {
    alertname: title,
    severity,
    service,
    environment,
    monitoring_tool: tool,
    host: alert.hosts[0] ?? '',
  };
  const own = {
    cm_severity: severity,
    cm_service: service,
    cm_environment: environment,
    cm_tool: tool,
    cm_title: title,
    cm_integration: integrationName,
  };
  const present = Object.entries(usual).filter(([, value]) => value !== '');
  const values = new Map([...present, ...Object.entries(alert.match_labels), ...Object.entries(own)]);
  return { values, isCut: alert.has_cut_labels };
}
