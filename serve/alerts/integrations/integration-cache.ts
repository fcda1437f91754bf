import type { Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import type { SenderRules } from '../../../aggregate/alerts/model/sender-rules.ts';
import type { KeyValue } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { hashSecret, newLocator } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { NOTIFIED_CHANGES } from '../events/event-history.ts';
import type { Integration, IntegrationSummary, Project, Webhook } from '../model/tables.ts';
import { isActiveOncallLink } from './oncall-link.ts';
import { storedRules } from './rules-schema.ts';

/** An integration in the form that the webhook receiver needs. */
export interface CachedIntegration {
  readonly integration: IntegrationSummary;
  readonly mapping: Mapping | null;
  readonly senderRules: SenderRules | null;
  readonly isPremium: boolean;
  /** Hashes of the current and the previous key, as bytes. A missing key has a value that matches no key. */
  readonly keys: { readonly current: Buffer; readonly old: Buffer };
}

/** A webhook or an on-call link that is active. */
interface CachedTarget {
  readonly id: string;
  readonly events: readonly string[];
}

/** Key of the shared version. */
const VERSION_KEY = 'alerts/directory';
const ROWS_MAX = 1_000_000;

interface IntegrationCacheDependencies {
  readonly keyValue: KeyValue;
  readonly projects: Records<Project>;
  readonly integrations: Records<Integration>;
  readonly webhooks: Records<Webhook>;
}

/**
 * Keeps all integrations in memory, so a request to an unknown integration takes as long as one to a known integration.
 * All processes share a version in the key-value store. A process reloads when the version changes.
 */
export class IntegrationCache {
  readonly #keyValue: KeyValue;
  readonly #projects: Records<Project>;
  readonly #integrations: Records<Integration>;
  readonly #webhooks: Records<Webhook>;
  #targets: ReadonlyMap<string, readonly CachedTarget[]> = new Map();
  #entries: ReadonlyMap<string, CachedIntegration> = new Map();
  /** Integrations by the hashes of their current and previous keys. */
  #byKeyHash: ReadonlyMap<string, CachedIntegration> = new Map();
  #forwarding: ReadonlySet<string> = new Set();
  #names: ReadonlyMap<string, string> = new Map();
  #version = '';
  #loading: Promise<void> | undefined;

  constructor({ keyValue, projects, integrations, webhooks }: IntegrationCacheDependencies) {
    this.#keyValue = keyValue;
    this.#projects = projects;
    this.#integrations = integrations;
    this.#webhooks = webhooks;
  }

  async find(id: string): Promise<CachedIntegration | undefined> {
    await this.#refresh();
    return this.#entries.get(id);
  }

  /** The integration with a current or previous key. The previous key may have expired. */
  async findByKey(key: string): Promise<CachedIntegration | undefined> {
    await this.#refresh();
    return this.#byKeyHash.get(hashSecret(key));
  }

  /** Names by id. Includes deleted integrations, because their alerts may still be open. */
  async names(): Promise<ReadonlyMap<string, string>> {
    await this.#refresh();
    return this.#names;
  }

  /** Active integrations with a heartbeat. */
  async withHeartbeat(): Promise<CachedIntegration[]> {
    await this.#refresh();
    return [...this.#entries.values()].filter(
      ({ integration }) => integration.is_active && integration.heartbeat_minutes > 0,
    );
  }

  /** The active webhooks and on-call links of a project; none if it is deleted. */
  async targetsOf(project: number): Promise<readonly CachedTarget[]> {
    await this.#refresh();
    return this.#targets.get(String(project)) ?? [];
  }

  /** True if all alerts of a project are forwarded to an on-call tool. */
  async isForwarding(projectId: string): Promise<boolean> {
    await this.#refresh();
    return this.#forwarding.has(projectId);
  }

  /** Called after every durable change of a project, an integration or a webhook. */
  async invalidate(): Promise<void> {
    await this.#keyValue.set(VERSION_KEY, newLocator());
  }

  /** A load that began before this call may have missed a change, so the version is compared again after that load. */
  async #refresh(): Promise<void> {
    for (;;) {
      let version: string | null;
      try {
        version = await this.#keyValue.get(VERSION_KEY);
      } catch (error) {
        // Stale entries are better than refused alerts.
        if (this.#version !== '') return;
        throw error;
      }
      if (version !== null && version === this.#version) return;
      this.#loading ??= this.#load(version).finally(() => {
        this.#loading = undefined;
      });
      await this.#loading;
    }
  }

  async #load(seen: string | null): Promise<void> {
    let version = seen;
    if (version === null) {
      await this.#keyValue.set(VERSION_KEY, newLocator(), { onlyIfAbsent: true });
      version = (await this.#keyValue.get(VERSION_KEY)) ?? '';
    }
    const [all, projects, webhooks] = await Promise.all([
      this.#integrations.findWithout('sample', sql`1`, 'id', ROWS_MAX),
      this.#projects.find(sql`deleted_ms = 0`, 'id', ROWS_MAX),
      this.#webhooks.find(sql`deleted_ms = 0 AND is_active`, 'id', ROWS_MAX),
    ]);
    this.#names = new Map(all.map(({ id, name }) => [id, name]));
    const integrations = all.filter(({ deleted_ms }) => deleted_ms === 0);
    const plans = new Map(projects.map(({ id, plan }) => [id, plan]));
    this.#entries = new Map(
      integrations
        .filter(({ project_id }) => plans.has(project_id))
        .map((integration) => [
          integration.id,
          entryOf(integration, plans.get(integration.project_id) ?? ''),
        ]),
    );
    this.#byKeyHash = new Map(
      [...this.#entries.values()].flatMap((entry) =>
        [entry.integration.key_hash, entry.integration.old_key_hash]
          .filter((hash) => hash !== '')
          .map((hash) => [hash, entry] as const),
      ),
    );
    const links = integrations.filter(isActiveOncallLink);
    this.#forwarding = new Set(links.map(({ project_id }) => project_id));
    const targets = [
      ...webhooks.map(({ id, project_id, events }) => ({ id, project_id, events })),
      ...links.map(({ id, project_id }) => ({ id, project_id, events: NOTIFIED_CHANGES })),
    ];
    this.#targets = Map.groupBy(
      targets.filter(({ project_id }) => plans.has(project_id)),
      ({ project_id }) => project_id,
    );
    this.#version = version;
  }
}

function entryOf(integration: IntegrationSummary, plan: string): CachedIntegration {
  const isPremium = plan === 'premium';
  const mapping =
    isPremium && integration.mapping !== '' ? (JSON.parse(integration.mapping) as Mapping) : null;
  const keys = { current: hashBytes(integration.key_hash), old: hashBytes(integration.old_key_hash) };
  return { integration, mapping, senderRules: storedRules(integration.rules), isPremium, keys };
}

/** Has the same length with and without a hash, so it can be compared in constant time. */
const hashBytes = (hash: string): Buffer => Buffer.from(hash || '-'.repeat(hashSecret('').length));
export const NO_KEYS: CachedIntegration['keys'] = { current: hashBytes(''), old: hashBytes('') };
