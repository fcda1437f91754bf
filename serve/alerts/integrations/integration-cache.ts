import type { Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { KeyValue } from '../../../infra/ports.ts';
import { hashSecret, newLocator } from '../../identity/accounts/secrets.ts';
import type { Records } from '../../records/records.ts';
import type { Hook, Integration, Project } from '../projects/tables.ts';

/** What the intake knows of an integration. */
export interface CachedIntegration {
  readonly integration: Integration;
  readonly mapping: Mapping | null;
  readonly isPremium: boolean;
  /** Hashes of the key and of the one before, as bytes; of nothing that is a key where there is none. */
  readonly keys: { readonly current: Buffer; readonly old: Buffer };
}

const STAMP = 'alerts/directory';
const INTEGRATIONS_MOST = 1_000_000;

/**
 * All integrations, in memory, so that an unknown one costs as much time as a known one. A stamp that all processes
 * share tells when it is out of date.
 */
export class IntegrationCache {
  readonly #keyValue: KeyValue;
  readonly #projects: Records<Project>;
  readonly #integrations: Records<Integration>;
  readonly #hooks: Records<Hook>;
  #targets: ReadonlyMap<string, readonly string[]> = new Map();
  #entries: ReadonlyMap<string, CachedIntegration> = new Map();
  #stamp = '';
  #loading: Promise<void> | undefined;

  constructor(
    keyValue: KeyValue,
    projects: Records<Project>,
    integrations: Records<Integration>,
    hooks: Records<Hook>,
  ) {
    this.#hooks = hooks;
    this.#keyValue = keyValue;
    this.#projects = projects;
    this.#integrations = integrations;
  }

  /** What is known by the name in a webhook address. */
  async find(endpoint: string): Promise<CachedIntegration | undefined> {
    await this.#refresh();
    return this.#entries.get(endpoint);
  }

  /** Active integrations that should be heard regularly. */
  async watched(): Promise<CachedIntegration[]> {
    await this.#refresh();
    return [...this.#entries.values()].filter(
      ({ integration }) => integration.is_active && integration.heartbeat_minutes > 0,
    );
  }

  /** Ids of the webhooks and on-call links that are told of a project's alerts. */
  async targetsOf(project: number): Promise<readonly string[]> {
    await this.#refresh();
    return this.#targets.get(String(project)) ?? [];
  }

  /** Called after every change of a project, an integration or a webhook, when it is durable. */
  async changed(): Promise<void> {
    await this.#keyValue.set(STAMP, newLocator());
  }

  /** What is read meanwhile for somebody who came earlier may be too old: it is looked again after it. */
  async #refresh(): Promise<void> {
    for (;;) {
      let stamp: string | null;
      try {
        stamp = await this.#keyValue.get(STAMP);
      } catch (error) {
        // What was known a moment ago is better than to turn alerts away.
        if (this.#stamp !== '') return;
        throw error;
      }
      if (stamp !== null && stamp === this.#stamp) return;
      this.#loading ??= this.#load(stamp).finally(() => {
        this.#loading = undefined;
      });
      await this.#loading;
    }
  }

  async #load(seen: string | null): Promise<void> {
    let stamp = seen;
    if (stamp === null) {
      await this.#keyValue.set(STAMP, newLocator(), { onlyIfAbsent: true });
      stamp = (await this.#keyValue.get(STAMP)) ?? '';
    }
    const [integrations, projects, hooks] = await Promise.all([
      this.#integrations.find(sql`deleted_ms = 0`, 'id', INTEGRATIONS_MOST),
      this.#projects.find(sql`deleted_ms = 0`, 'id', INTEGRATIONS_MOST),
      this.#hooks.find(sql`deleted_ms = 0 AND is_active`, 'id', INTEGRATIONS_MOST),
    ]);
    const plans = new Map(projects.map(({ id, plan }) => [id, plan]));
    this.#entries = new Map(
      integrations
        .filter(({ project_id }) => plans.has(project_id))
        .map((integration) => [
          integration.id,
          entryOf(integration, plans.get(integration.project_id) ?? ''),
        ]),
    );
    const links = integrations.filter(({ type, is_active }) => type === 'oncall' && is_active);
    const told = Map.groupBy([...hooks, ...links], ({ project_id }) => project_id);
    this.#targets = new Map([...told].map(([project, of]) => [project, of.map(({ id }) => id)]));
    this.#stamp = stamp;
  }
}

function entryOf(integration: Integration, plan: string): CachedIntegration {
  const isPremium = plan === 'premium';
  const mapping =
    isPremium && integration.mapping !== '' ? (JSON.parse(integration.mapping) as Mapping) : null;
  const keys = { current: hashBytes(integration.key_hash), old: hashBytes(integration.old_key_hash) };
  return { integration, mapping, isPremium, keys };
}

/** Of the same length whether there is a hash or not, so that it can be compared in constant time. */
const hashBytes = (hash: string): Buffer => Buffer.from(hash || '-'.repeat(hashSecret('').length));
export const NO_KEYS: CachedIntegration['keys'] = { current: hashBytes(''), old: hashBytes('') };
