import { z } from 'zod';
import { ALERT_STATUSES, type Alert, SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import { MAPPED_FIELDS, type Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import type { User } from '../../accounts/tables.ts';
import { PRESET_NAMES } from '../integrations/presets/presets.ts';
import { rulesSchema, storedRules } from '../integrations/rules-schema.ts';
import { API_TYPE_NAMES, typeOf, webhookPathOf } from '../integrations/types.ts';
import { type Membership, roleOf } from '../model/access.ts';
import type { Incident, Integration } from '../model/tables.ts';
import type { ProjectMember } from './members.ts';

// Resources of the REST API: the schema of each, and the function that creates its JSON.

/** Replaces unpaired surrogates by U+FFFD, as the store does, so the response equals what later requests read. */
export const wellFormedText = () => z.string().overwrite((text) => text.toWellFormed());

const moment = z.iso.datetime();
/** A time in ISO 8601; null for none. */
export const timeText = (ms: number): string | null => (ms === 0 ? null : new Date(ms).toISOString());

export const userShape = z
  .object({ id: z.int(), username: z.string(), name: z.string() })
  .meta({ id: 'User' });
export const userJson = ({ id, username, name }: User) => ({ id: Number(id), username, name });

export const projectShape = z
  .object({
    id: z.int(),
    name: z.string(),
    description: z.string(),
    plan: z.enum(['free', 'premium']),
    access_level: z.int().describe('access level of the caller in the project'),
    role: z.string(),
    creates_incidents: z.boolean(),
    closes_incidents: z.boolean(),
    created_at: moment,
    web_url: z.string(),
  })
  .meta({ id: 'Project' });
export const projectJson = ({ project, level }: Membership, url: string) => ({
  id: Number(project.id),
  name: project.name,
  description: project.description,
  plan: project.plan,
  access_level: level,
  role: roleOf(level),
  creates_incidents: project.makes_incidents,
  closes_incidents: project.closes_incidents,
  created_at: timeText(project.created_ms),
  web_url: `${url}/projects/${project.id}`,
});

export const memberShape = z
  .object({
    ...userShape.shape,
    access_level: z.int(),
    role: z.string(),
    created_at: moment,
  })
  .meta({ id: 'Member' });
export const memberJson = ({ user, level, since }: ProjectMember) => ({
  ...userJson(user),
  access_level: level,
  role: roleOf(level),
  created_at: timeText(since),
});

export const mappingSchema = z
  .array(
    z.object({
      field_name: z.enum(MAPPED_FIELDS),
      path: z
        .array(z.union([z.string().max(1000), z.int().min(0)]))
        .min(1)
        .max(100),
    }),
  )
  .max(MAPPED_FIELDS.length)
  .refine((list) => new Set(list.map(({ field_name }) => field_name)).size === list.length, {
    message: 'has a field twice',
  })
  .describe('path in the payload for each field of the alert');

export const mappingOf = (list: z.output<typeof mappingSchema>): Mapping =>
  Object.fromEntries(list.map(({ field_name, path }) => [field_name, path]));

const mappingJson = (text: string) =>
  text === ''
    ? []
    : Object.entries(JSON.parse(text) as Mapping).map(([field_name, path]) => ({ field_name, path }));

export const integrationShape = z
  .object({
    id: z.string(),
    type: z.enum(API_TYPE_NAMES),
    name: z.string(),
    active: z.boolean(),
    url: z.string().describe('webhook URL of the integration'),
    api_url: z.string().nullable(),
    topics: z.array(z.string()).describe('ARNs of the accepted Amazon SNS topics'),
    payload_example: z.string().nullable(),
    payload_attribute_mappings: mappingSchema,
    rules: rulesSchema.nullable(),
    preset: z.enum(PRESET_NAMES).nullable(),
    heartbeat_minutes: z.int(),
    heartbeat_matchers: z.string(),
    created_at: moment,
    key_created_at: moment,
    old_key_expires_at: moment.nullable().describe('when the previous key expires'),
  })
  .meta({ id: 'Integration' });
export const keyedIntegrationShape = integrationShape
  .extend({
    authorization_key: z.string().describe('returned only in this response'),
  })
  .meta({ id: 'IntegrationWithKey' });

export function integrationJson(integration: Integration, url: string, now: number) {
  return {
    id: integration.id,
    type: typeOf(integration).apiName,
    name: integration.name,
    active: integration.is_active,
    url: `${url}${webhookPathOf(integration)}`,
    api_url: integration.api_url || null,
    topics: integration.topics,
    payload_example: integration.sample || null,
    payload_attribute_mappings: mappingJson(integration.mapping),
    rules: storedRules(integration.rules),
    preset: integration.preset || null,
    heartbeat_minutes: integration.heartbeat_minutes,
    heartbeat_matchers: integration.heartbeat_matchers,
    created_at: timeText(integration.created_ms),
    key_created_at: timeText(integration.key_created_ms),
    old_key_expires_at: integration.old_key_ends_ms > now ? timeText(integration.old_key_ends_ms) : null,
  };
}

export const alertShape = z
  .object({
    iid: z.int(),
    project_id: z.int(),
    title: z.string(),
    description: z.string(),
    severity: z.enum(SEVERITIES),
    status: z.enum(ALERT_STATUSES),
    service: z.string(),
    monitoring_tool: z.string(),
    hosts: z.array(z.string()),
    environment: z.string(),
    labels: z
      .array(z.string())
      .describe(
        'labels that are not in other fields, as `name=value`; the list may be cut, the payload has all labels',
      ),
    event_count: z.int(),
    started_at: moment.nullable(),
    ended_at: moment.nullable(),
    created_at: moment,
    updated_at: moment,
    last_seen_at: moment,
    acknowledged_at: moment.nullable(),
    assignees: z.array(userShape),
    runbook: z.string().nullable(),
    query: z.string().nullable(),
    incident_iid: z.int().nullable(),
    integration_id: z.string(),
    silenced_by: z
      .array(z.string())
      .describe('ids of the silences and maintenance windows that suppress its pages now'),
    web_url: z.string(),
  })
  .meta({ id: 'Alert' });

export function alertJson(
  alert: Alert,
  users: ReadonlyMap<string, User>,
  url: string,
  silencedBy: readonly string[] = [],
) {
  return {
    iid: alert.iid,
    project_id: alert.project,
    title: alert.title,
    description: alert.description,
    severity: alert.severity,
    status: alert.status,
    service: alert.service,
    monitoring_tool: alert.tool,
    hosts: alert.hosts,
    environment: alert.environment,
    labels: alert.labels,
    event_count: alert.events,
    started_at: timeText(alert.started_ms),
    ended_at: timeText(alert.ended_ms),
    created_at: timeText(alert.created_ms),
    updated_at: timeText(alert.updated_ms),
    last_seen_at: timeText(alert.seen_ms),
    acknowledged_at: timeText(alert.acknowledged_ms),
    assignees: alert.assignees.flatMap((id) => {
      const user = users.get(id);
      return user ? [userJson(user)] : [];
    }),
    runbook: alert.runbook || null,
    query: alert.query || null,
    incident_iid: alert.incident || null,
    integration_id: alert.integration,
    silenced_by: silencedBy,
    web_url: `${url}/projects/${alert.project}/alerts/${alert.iid}`,
  };
}

export const incidentShape = z
  .object({
    iid: z.int(),
    project_id: z.int(),
    alert_iid: z.int(),
    title: z.string(),
    description: z.string(),
    severity: z.string(),
    state: z.enum(['opened', 'closed']),
    author_id: z.int().nullable(),
    created_at: moment,
    updated_at: moment,
    closed_at: moment.nullable(),
  })
  .meta({ id: 'Incident' });
export const incidentJson = (incident: Incident) => ({
  iid: incident.iid,
  project_id: Number(incident.project_id),
  alert_iid: incident.alert_iid,
  title: incident.title,
  description: incident.description,
  severity: incident.severity,
  state: incident.closed_ms === 0 ? 'opened' : 'closed',
  author_id: incident.author_id === '' ? null : Number(incident.author_id),
  created_at: timeText(incident.created_ms),
  updated_at: timeText(incident.updated_ms),
  closed_at: timeText(incident.closed_ms),
});
