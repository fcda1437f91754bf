import { randomBytes } from 'node:crypto';
import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import type { Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { hashSecret, type Seal } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { requireHttpUrl } from '../http-client/http-url.ts';
import { secretContext } from '../http-client/signature.ts';
import { RequestRefused } from '../model/access.ts';
import type { Integration, IntegrationSummary, Project } from '../model/tables.ts';
import { requireTopics } from '../sns/topics.ts';
import { HEARTBEAT_MATCHERS, heartbeatSettings } from './heartbeat-settings.ts';
import type { IntegrationCache } from './integration-cache.ts';
import type { IntegrationType } from './integration-type.ts';
import { isOncallLink, type OncallLinks, requireExclusive } from './oncall-link.ts';
import { requirePlan, requireRoom } from './plan-limits.ts';
import type { Preset } from './presets/preset.ts';
import { presetOf } from './presets/presets.ts';
import { requireRules, rulesColumn } from './rules-schema.ts';
import { mappingText, type PayloadSizes, parseSample, requireSize } from './samples.ts';
import { typeOf } from './types.ts';

const NAME_CHARACTERS_MAX = 255;
const ID_BYTES = 8;
/** Longest time that the previous key can stay valid after a rotation. */
const ROTATION_HOURS_MAX = 24 * 30;

export interface IntegrationChanges {
  readonly name?: string;
  readonly is_active?: boolean;
  /** JSON text; '' removes it. */
  readonly sample?: string;
  readonly mapping?: Mapping | null;
  readonly rules?: SenderRules | null;
  readonly api_url?: string;
  /** ARNs of topics of Amazon SNS. */
  readonly topics?: readonly string[];
  readonly heartbeat_minutes?: number;
  readonly heartbeat_matchers?: string;
}

/** An integration and its key in plain text, which is never shown again. */
export interface IntegrationWithKey {
  readonly integration: Integration;
  readonly key: string;
}

interface IntegrationsDependencies {
  readonly records: Records<Integration>;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly cache: IntegrationCache;
  readonly oncallLinks: OncallLinks;
  readonly payloadSizes: PayloadSizes;
  readonly seal: Seal;
}

/** The integrations of projects. Alerts arrive through them. */
export class Integrations {
  readonly #records: Records<Integration>;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #cache: IntegrationCache;
  readonly #oncallLinks: OncallLinks;
  readonly #payloadSizes: PayloadSizes;
  readonly #seal: Seal;

  constructor({ records, clock, locks, cache, oncallLinks, payloadSizes, seal }: IntegrationsDependencies) {
    this.#records = records;
    this.#clock = clock;
    this.#locks = locks;
    this.#cache = cache;
    this.#oncallLinks = oncallLinks;
    this.#payloadSizes = payloadSizes;
    this.#seal = seal;
  }

  list(projectId: string): Promise<IntegrationSummary[]> {
    const where = sql`project_id = ${projectId} AND deleted_ms = 0`;
    return this.#records.findWithout('sample', where, 'created_ms, id');
  }

  /** Includes the sample payloads, except those above the current size limit. */
  async listWithSamples(projectId: string): Promise<Integration[]> {
    const found: Integration[] = [];
    for (const { id } of await this.list(projectId)) {
      const integration = await this.find(id);
      if (integration === null || integration.deleted_ms > 0) continue;
      const isLong = Buffer.byteLength(integration.sample) > this.#payloadSizes.bytesMax;
      found.push(isLong ? { ...integration, sample: '' } : integration);
    }
    return found;
  }

  async get(project: Project, id: string): Promise<Integration> {
    const found = await this.find(id);
    if (!found || found.project_id !== project.id || found.deleted_ms > 0) {
      throw new RequestRefused('not_found', 'Integration Not Found');
    }
    return found;
  }

  /** Also finds integrations of other and deleted projects. */
  async find(id: string): Promise<Integration | null> {
    return /^[0-9a-f]{16}$/.test(id) ? this.#records.get(id) : null;
  }

  /** Creates an integration. With a preset, it starts with a copy of the preset's rules and sample. */
  create(
    project: Project,
    type: IntegrationType,
    given: IntegrationChanges,
    chosen: Preset | null = null,
  ): Promise<IntegrationWithKey> {
    requirePreset(type, chosen);
    const preset = chosen ?? presetOf({ preset: type.preset ?? '' });
    return this.#exclusively(project, async () => {
      const others = await this.list(project.id);
      const name = cleanLine(given.name ?? '') || (chosen?.label ?? '');
      requireRoom(project, type, others, name);
      const key = type.newKey();
      const id = randomBytes(ID_BYTES).toString('hex');
      const kind = { type: type.name, preset: preset?.name ?? '' };
      const fresh = this.#newKey(id, kind, key);
      const blank = {
        ...blankIntegration(id, project, type),
        ...(preset !== null && presetColumns(preset)),
        ...fresh,
        created_ms: fresh.key_created_ms,
      };
      const integration = this.#withChanges(project, blank, { ...given, name: name || type.label });
      requireExclusive(integration, others);
      await this.#oncallLinks.beforeActivation(integration);
      await this.#records.add(integration);
      return { integration: { ...integration, version: 1 }, key };
    });
  }

  async change(project: Project, id: string, changes: IntegrationChanges): Promise<Integration> {
    const changed = await this.#exclusively(project, async () => {
      const before = await this.get(project, id);
      const others = (await this.list(project.id)).filter((other) => other.id !== id);
      if (changes.is_active === true && !before.is_active) {
        requirePlan(
          project,
          typeOf(before),
          others.filter(({ is_active }) => is_active),
        );
        await this.#oncallLinks.beforeActivation(before);
      }
      return this.#records.change(id, (current) => {
        const next = { ...this.#withChanges(project, current as Integration, changes), version: 0 };
        requireExclusive(next, others);
        return { next, result: next };
      });
    });
    await this.#oncallLinks.afterChange(changed);
    return changed;
  }

  /** True if an integration accepts messages of an Amazon SNS topic. An integration without topics adopts this topic. */
  async acceptTopic({ id, topics }: Pick<Integration, 'id' | 'topics'>, topic: string): Promise<boolean> {
    if (topics.length > 0) return topics.includes(topic);
    const isAccepted = await this.#records.change(id, (current) => {
      if (current === null || current.topics.length > 0)
        return { result: current?.topics.includes(topic) ?? false };
      return { next: { ...current, topics: [topic] }, result: true };
    });
    await this.#cache.invalidate();
    return isAccepted;
  }

  async delete(project: Project, id: string): Promise<void> {
    await this.#update(project, id, () => ({ deleted_ms: this.#clock.now(), is_active: false }));
  }

  /** Replaces all keys by a new key, or by the secret with which the sender signs. */
  async resetKey(project: Project, id: string, secret?: string): Promise<IntegrationWithKey> {
    const before = await this.get(project, id);
    if (secret !== undefined) requireSecret(before, secret);
    const key = secret ?? typeOf(before).newKey();
    const integration = await this.#update(project, id, (current) => ({
      ...this.#newKey(id, current, key),
      ...NO_OLD_KEY,
    }));
    return { integration, key };
  }

  /** Creates a new key. The previous key stays valid for some hours, so senders can be changed one by one. */
  async rotateKey(project: Project, id: string, hours: number): Promise<IntegrationWithKey> {
    if (!(hours >= 1 && hours <= ROTATION_HOURS_MAX)) {
      throw new RequestRefused('bad_request', `Enter 1 to ${ROTATION_HOURS_MAX} hours.`, 'hours');
    }
    const key = typeOf(await this.get(project, id)).newKey();
    const now = this.#clock.now();
    const integration = await this.#update(project, id, (current) => ({
      ...this.#newKey(id, current, key),
      old_key_hash: current.key_hash,
      old_key_ends_ms: Math.round(now + hours * HOUR_MS),
      old_sealed_key: current.sealed_key,
    }));
    return { integration, key };
  }

  revokeOldKey(project: Project, id: string): Promise<Integration> {
    return this.#update(project, id, () => NO_OLD_KEY);
  }

  /** Columns of a new key. It is stored encrypted, too, if requests are signed with it. */
  #newKey(id: string, integration: Pick<Integration, 'type' | 'preset'>, key: string) {
    const sealed_key =
      isOncallLink(integration) || isSignedBySender(integration)
        ? this.#seal.encrypt(key, secretContext(id))
        : '';
    return { key_hash: hashSecret(key), key_created_ms: this.#clock.now(), sealed_key };
  }

  #update(
    project: Project,
    id: string,
    change: (current: Integration) => Partial<Integration>,
  ): Promise<Integration> {
    return this.#exclusively(project, async () => {
      await this.get(project, id);
      return this.#records.change(id, (current) => {
        const next = { ...(current as Integration), ...change(current as Integration) };
        return { next, result: next };
      });
    });
  }

  /** Changes the integrations of a project one at a time, and invalidates the cache of every process. */
  async #exclusively<T>(project: Project, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#locks.run(`integrations/${project.id}`, work);
    } finally {
      await this.#cache.invalidate();
    }
  }

  #withChanges<Row extends Omit<Integration, 'version'>>(
    project: Project,
    current: Row,
    changes: IntegrationChanges,
  ): Row {
    const { is_active = current.is_active, api_url = current.api_url } = changes;
    const name = cleanLine(changes.name ?? current.name);
    const sample = changes.sample ?? current.sample;
    if (name === '') throw new RequestRefused('bad_request', 'Enter a name.', 'name');
    if (name.length > NAME_CHARACTERS_MAX) {
      throw new RequestRefused('bad_request', `Enter at most ${NAME_CHARACTERS_MAX} characters.`, 'name');
    }
    if (sample !== '' && sample !== current.sample) {
      requireSize(sample, this.#payloadSizes);
      parseSample(sample, this.#payloadSizes);
    }
    requireUrl(typeOf(current), api_url);
    const topics = changes.topics ?? current.topics;
    requireTopics(topics);
    // A new sample removes the mapping, because the sample may lack its paths.
    const unchanged = sample === current.sample ? current.mapping : '';
    const mapping =
      changes.mapping === undefined
        ? unchanged
        : mappingText(project, changes.mapping, sample, this.#payloadSizes);
    const rules =
      changes.rules === undefined ? current.rules : rulesColumn(changes.rules && requireRules(changes.rules));
    const heartbeat = heartbeatSettings(current, changes);
    return { ...current, name, is_active, api_url, topics, sample, mapping, rules, ...heartbeat };
  }
}

function requirePreset(type: IntegrationType, preset: Preset | null): void {
  if (preset === null || preset.type === type.name) return;
  throw new RequestRefused(
    'bad_request',
    `${preset.label} cannot send to an integration of the type ${type.label}. Choose another type or preset.`,
    'preset',
  );
}

/** True if the sender signs requests with a secret of its own. */
export const isSignedBySender = (integration: Pick<Integration, 'preset'>): boolean =>
  presetOf(integration)?.signatureHeader !== undefined;

function requireSecret(integration: Integration, secret: string): void {
  const refused = (text: string) => new RequestRefused('bad_request', text, 'key');
  if (!isSignedBySender(integration))
    throw refused(
      'The sender of this integration does not sign requests. Reset the key without a secret instead.',
    );
  if (!/^[\x21-\x7e]{16,255}$/.test(secret))
    throw refused('Enter a secret of 16 to 255 printable ASCII characters without spaces.');
}

const presetColumns = ({ name, rules, sample }: Preset) => ({
  preset: name,
  rules: rulesColumn(rules),
  sample: JSON.stringify(sample, null, 2),
});

const NO_OLD_KEY = { old_key_hash: '', old_key_ends_ms: 0, old_sealed_key: '' };

const blankIntegration = (id: string, project: Project, type: IntegrationType) => ({
  id,
  expires_ms: 0,
  project_id: project.id,
  type: type.name,
  name: type.label,
  is_active: true,
  ...NO_OLD_KEY,
  sample: '',
  mapping: '',
  rules: '',
  preset: '',
  api_url: '',
  topics: [],
  heartbeat_minutes: 0,
  heartbeat_matchers: HEARTBEAT_MATCHERS,
  deleted_ms: 0,
});

function requireUrl({ settings }: IntegrationType, url: string): void {
  const required = settings.find(({ name, isRequired }) => name === 'api_url' && isRequired);
  if (url === '' && required)
    throw new RequestRefused('bad_request', `Enter the ${required.label}.`, required.name);
  if (url !== '') requireHttpUrl(url, 'api_url');
}
