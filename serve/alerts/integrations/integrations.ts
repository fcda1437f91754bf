import { randomBytes } from 'node:crypto';
import { BodyError, parseDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import { fieldsOf, type SampleField, valueAt } from '../../../aggregate/alerts/formats/mapping.ts';
import { depthOf, isObject } from '../../../aggregate/alerts/formats/values.ts';
import { MAPPED_FIELDS, type Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import { parsingRules } from '../../../aggregate/alerts/model/rules.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { hashSecret, newSecret } from '../../identity/accounts/secrets.ts';
import { skipHistory } from '../notifications/webhooks.ts';
import { RequestRefused } from '../projects/access.ts';
import type { Integration, IntegrationType, Project } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';

export const INTEGRATIONS_PER_PROJECT = 100;
const NAME_CHARACTERS_MAX = 255;
const ENDPOINT_BYTES = 8;
/** How long the key before stays good after a rotation. */
export const ROTATION_HOURS_MAX = 24 * 30;

const NAMES: Readonly<Record<IntegrationType, string>> = {
  http: 'HTTP endpoint',
  prometheus: 'Prometheus',
  oncall: 'On-call tool',
};

export interface IntegrationChanges {
  readonly name?: string;
  readonly is_active?: boolean;
  /** JSON text; '' takes it away. */
  readonly sample?: string;
  readonly mapping?: Mapping | null;
  readonly api_url?: string;
  readonly heartbeat_minutes?: number;
}

/** An integration and its key in clear, which is never shown again. */
export interface WithKey {
  readonly integration: Integration;
  readonly key: string;
}

export function integrationsOf(services: AlertServices, projectId: string): Promise<Integration[]> {
  return services.integrations.find(sql`project_id = ${projectId} AND deleted_ms = 0`, 'created_ms, id');
}

export async function integrationOf(
  services: AlertServices,
  project: Project,
  id: string,
): Promise<Integration> {
  const found = /^[0-9a-f]{16}$/.test(id) ? await services.integrations.get(id) : null;
  if (!found || found.project_id !== project.id || found.deleted_ms > 0) {
    throw new RequestRefused('not_found', 'Integration Not Found');
  }
  return found;
}

export async function createIntegration(
  services: AlertServices,
  project: Project,
  type: IntegrationType,
  given: IntegrationChanges,
): Promise<WithKey> {
  return changing(services, project, async () => {
    const others = await integrationsOf(services, project.id);
    if (others.length >= INTEGRATIONS_PER_PROJECT) {
      throw new RequestRefused(
        'conflict',
        `A project may have ${INTEGRATIONS_PER_PROJECT} integrations; delete one first.`,
      );
    }
    const ofType = others.filter((other) => other.type === type).length;
    if (type === 'http' && project.plan !== 'premium' && ofType > 0) {
      throw new RequestRefused(
        'forbidden',
        'The free plan has one HTTP endpoint; the premium plan has as many as you like.',
      );
    }
    const name = given.name?.trim() ?? '';
    if (type === 'http' && ofType > 0 && name === '') {
      throw new RequestRefused('bad_request', 'An additional HTTP endpoint needs a name.', 'name');
    }
    const now = services.accounts.clock.now();
    const key = newSecret();
    const blank: Omit<Integration, 'version'> = {
      id: randomBytes(ENDPOINT_BYTES).toString('hex'),
      expires_ms: 0,
      project_id: project.id,
      type,
      name: name || NAMES[type],
      is_active: given.is_active ?? true,
      key_hash: hashSecret(key),
      key_created_ms: now,
      old_key_hash: '',
      old_key_ends_ms: 0,
      sample: '',
      mapping: '',
      api_url: '',
      heartbeat_minutes: 0,
      created_ms: now,
      deleted_ms: 0,
    };
    const integration = changed(services, project, blank, { ...given, name: blank.name });
    requireAlone(integration, others);
    if (type === 'oncall') await skipHistory(services, Number(project.id), integration.id);
    await services.integrations.add(integration);
    return { integration: { ...integration, version: 1 }, key };
  });
}

export function changeIntegration(
  services: AlertServices,
  project: Project,
  id: string,
  changes: IntegrationChanges,
): Promise<Integration> {
  return changing(services, project, async () => {
    const before = await integrationOf(services, project, id);
    if (before.type === 'oncall' && changes.is_active === true && !before.is_active) {
      await skipHistory(services, Number(project.id), id);
    }
    const others = (await integrationsOf(services, project.id)).filter((other) => other.id !== id);
    return services.integrations.change(id, (current) => {
      const next = { ...changed(services, project, current as Integration, changes), version: 0 };
      requireAlone(next, others);
      return { next, result: next };
    });
  });
}

export async function deleteIntegration(
  services: AlertServices,
  project: Project,
  id: string,
): Promise<void> {
  await update(services, project, id, () => ({
    deleted_ms: services.accounts.clock.now(),
    is_active: false,
  }));
}

/** A new key; every key before is dead at once. */
export async function resetKey(services: AlertServices, project: Project, id: string): Promise<WithKey> {
  const key = newSecret();
  const integration = await update(services, project, id, () => ({
    key_hash: hashSecret(key),
    key_created_ms: services.accounts.clock.now(),
    old_key_hash: '',
    old_key_ends_ms: 0,
  }));
  return { integration, key };
}

/** A new key, with the one before still good for some hours, so that senders can be changed one by one. */
export async function rotateKey(
  services: AlertServices,
  project: Project,
  id: string,
  hours: number,
): Promise<WithKey> {
  if (!(hours > 0 && hours <= ROTATION_HOURS_MAX)) {
    throw new RequestRefused('bad_request', `Use 1 to ${ROTATION_HOURS_MAX} hours.`, 'hours');
  }
  const key = newSecret();
  const now = services.accounts.clock.now();
  const integration = await update(services, project, id, (current) => ({
    key_hash: hashSecret(key),
    key_created_ms: now,
    old_key_hash: current.key_hash,
    old_key_ends_ms: now + hours * 3_600_000,
  }));
  return { integration, key };
}

/** Ends the key before at once. */
export function endOldKey(services: AlertServices, project: Project, id: string): Promise<Integration> {
  return update(services, project, id, () => ({ old_key_hash: '', old_key_ends_ms: 0 }));
}

/** What of a sample can be mapped; refused when it is not a JSON object that the intake would take. */
export function sampleFields(services: AlertServices, sample: string): SampleField[] {
  return fieldsOf(readSample(services, sample));
}

function readSample(services: AlertServices, sample: string): unknown {
  const { ALERT_BODY_BYTES_MAX: most, ALERT_DEPTH_MAX: depth } = services.engine.config;
  const bytes = Buffer.from(sample);
  if (bytes.length > most)
    throw new RequestRefused('bad_request', `A sample may have ${most} bytes at most.`, 'payload_example');
  if (depthOf(bytes) > depth) {
    throw new RequestRefused(
      'bad_request',
      `A sample may be nested ${depth} levels deep at most.`,
      'payload_example',
    );
  }
  let payload: unknown;
  try {
    payload = JSON.parse(sample);
  } catch {
    throw new RequestRefused('bad_request', 'The sample must be valid JSON.', 'payload_example');
  }
  if (!isObject(payload))
    throw new RequestRefused('bad_request', 'The sample must be a JSON object.', 'payload_example');
  return payload;
}

function changed<Row extends Omit<Integration, 'version'>>(
  services: AlertServices,
  project: Project,
  current: Row,
  changes: IntegrationChanges,
): Row {
  const { name = current.name, is_active = current.is_active, api_url = current.api_url } = changes;
  const sample = changes.sample ?? current.sample;
  if (name.trim() === '') throw new RequestRefused('bad_request', 'A name is required.', 'name');
  if (name.length > NAME_CHARACTERS_MAX) {
    throw new RequestRefused('bad_request', `Use ${NAME_CHARACTERS_MAX} characters at most.`, 'name');
  }
  if (sample !== '' && sample !== current.sample) readSample(services, sample);
  if (current.type === 'oncall' && api_url === '') {
    throw new RequestRefused('bad_request', 'The address of the on-call tool is required.', 'api_url');
  }
  if (api_url !== '') requireUrl(api_url);
  const heartbeat_minutes = changes.heartbeat_minutes ?? current.heartbeat_minutes;
  if (!(heartbeat_minutes >= 0 && heartbeat_minutes <= 10_080)) {
    throw new RequestRefused('bad_request', 'Use 0 to 10080 minutes.', 'heartbeat_minutes');
  }
  // Another sample may have nothing where the mapping leads: it has to be made again.
  const recordTable = sample === current.sample ? current.mapping : '';
  const mapping =
    changes.mapping === undefined ? recordTable : mappingText(services, project, changes.mapping, sample);
  return { ...current, name: name.trim(), is_active, api_url, sample, heartbeat_minutes, mapping };
}

/** The mapping as it is kept; every path must lead to something in the sample. */
function mappingText(
  services: AlertServices,
  project: Project,
  mapping: Mapping | null,
  sample: string,
): string {
  if (mapping === null || Object.keys(mapping).length === 0) return '';
  const fault = (text: string) => new RequestRefused('bad_request', text, 'payload_attribute_mappings');
  if (project.plan !== 'premium') throw fault('Custom mapping needs the premium plan.');
  if (sample === '') throw fault('A mapping needs a sample payload that it maps.');
  const payload = readSample(services, sample);
  for (const [field, path] of Object.entries(mapping)) {
    if (!MAPPED_FIELDS.some((known) => known === field)) throw fault(`${field}: no such field.`);
    if (path.length === 0 || path.length > 100 || valueAt(payload, path) === undefined) {
      throw fault(`${field}: the path ${JSON.stringify(path)} leads to nothing in the sample.`);
    }
  }
  return JSON.stringify(mapping);
}

function requireUrl(text: string): void {
  const url = URL.parse(text);
  const isFine = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!isFine || text.length > 2000) {
    throw new RequestRefused('bad_request', 'Use an http or https address without a user name.', 'api_url');
  }
}

/** While the link to the on-call tool is active nothing else can be. */
function requireAlone(integration: Omit<Integration, 'version'>, others: readonly Integration[]): void {
  if (!integration.is_active) return;
  const active = others.filter(({ is_active }) => is_active);
  if (integration.type === 'oncall' && active.length > 0) {
    const names = active.map(({ name }) => name).join(', ');
    throw new RequestRefused('conflict', `Deactivate the other integrations first: ${names}.`, 'active');
  }
  if (active.some(({ type }) => type === 'oncall')) {
    throw new RequestRefused(
      'conflict',
      'The link to the on-call tool is active; deactivate it first.',
      'active',
    );
  }
}

async function update(
  services: AlertServices,
  project: Project,
  id: string,
  change: (current: Integration) => Partial<Integration>,
): Promise<Integration> {
  return changing(services, project, async () => {
    await integrationOf(services, project, id);
    return services.integrations.change(id, (current) => {
      const next = { ...(current as Integration), ...change(current as Integration) };
      return { next, result: next };
    });
  });
}

/** One change of a project's integrations at a time, and known to every process after it. */
async function changing<T>(services: AlertServices, project: Project, work: () => Promise<T>): Promise<T> {
  try {
    return await services.accounts.locks.run(`integrations/${project.id}`, work);
  } finally {
    await services.integrationCache.changed();
  }
}

/** What a payload would become, without sending it; refused with the reason when nothing can be taken from it. */
export function preview(
  services: AlertServices,
  integration: Integration,
  mapping: Mapping | null,
  payload: string,
) {
  try {
    const head = {
      kind: 'delivery' as const,
      id: '',
      from: '',
      at: 0,
      project: Number(integration.project_id),
      integration: integration.id,
      endpoint: 'http' as const,
      mapping,
      groups_by_payload: true,
      idempotency_key: '',
    };
    return parseDelivery(head, Buffer.from(payload), parsingRules(services.engine.config)).items;
  } catch (error) {
    if (error instanceof BodyError) throw new RequestRefused('bad_request', error.message, 'payload');
    throw error;
  }
}
