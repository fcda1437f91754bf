import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator, newSecret, type Seal } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { NOTIFIED_CHANGES, type NotifiedChangeName } from '../events/event-history.ts';
import type { Outbox } from '../events/outbox.ts';
import { requireHttpUrl } from '../http-client/http-url.ts';
import { secretContext } from '../http-client/signature.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import { RequestRefused } from '../model/access.ts';
import type { Project, Webhook } from '../model/tables.ts';

export const WEBHOOK_EVENTS = NOTIFIED_CHANGES;
export type WebhookEventName = NotifiedChangeName;
const WEBHOOKS_PER_PROJECT = 20;

interface WebhookChanges {
  readonly name?: string;
  readonly url?: string;
  readonly events?: readonly WebhookEventName[];
  readonly is_active?: boolean;
}

interface WebhooksDependencies {
  readonly records: Records<Webhook>;
  readonly clock: Clock;
  readonly seal: Seal;
  readonly outbox: Outbox;
  readonly cache: IntegrationCache;
}

/** Outgoing webhooks: URLs that receive the alert events of a project. */
export class Webhooks {
  readonly #deps: WebhooksDependencies;

  constructor(dependencies: WebhooksDependencies) {
    this.#deps = dependencies;
  }

  list(projectId: string): Promise<Webhook[]> {
    return this.#deps.records.find(sql`project_id = ${projectId} AND deleted_ms = 0`, 'created_ms, id');
  }

  async get(project: Pick<Project, 'id'>, id: string): Promise<Webhook> {
    const webhook = await this.find(project, id);
    if (webhook === null) throw new RequestRefused('not_found', 'Hook Not Found');
    return webhook;
  }

  async find(project: Pick<Project, 'id'>, id: string): Promise<Webhook | null> {
    const webhook = await this.#deps.records.get(id);
    return webhook && webhook.project_id === project.id && webhook.deleted_ms === 0 ? webhook : null;
  }

  /** Creates a webhook, which receives later events. The signing secret is returned only here. */
  async create(
    project: Project,
    given: WebhookChanges,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
    if ((await this.list(project.id)).length >= WEBHOOKS_PER_PROJECT) {
      throw new RequestRefused(
        'conflict',
        `A project can have up to ${WEBHOOKS_PER_PROJECT} webhooks. Delete one first.`,
      );
    }
    const id = newLocator();
    const secret = newSecret();
    const blank = {
      id,
      expires_ms: 0,
      project_id: project.id,
      name: '',
      url: '',
      events: [...WEBHOOK_EVENTS],
      secret: this.#deps.seal.encrypt(secret, secretContext(id)),
      is_active: true,
      created_ms: this.#deps.clock.now(),
      deleted_ms: 0,
    };
    const webhook = withChanges(blank, given);
    await this.#deps.outbox.skipHistory(Number(project.id), id);
    await this.#deps.records.add(webhook);
    await this.#deps.cache.invalidate();
    return { webhook: { ...webhook, version: 1 }, secret };
  }

  async change(project: Project, id: string, changes: WebhookChanges): Promise<Webhook> {
    const before = await this.get(project, id);
    // Events from before the activation are not sent later.
    if (changes.is_active === true && !before.is_active)
      await this.#deps.outbox.skipHistory(Number(project.id), id);
    const webhook = await this.#deps.records.change(id, (current) => {
      const next = withChanges(current as Webhook, changes);
      return { next, result: next };
    });
    await this.#deps.cache.invalidate();
    if (webhook.is_active) await this.#deps.outbox.retryNow(Number(project.id), id);
    return webhook;
  }

  async delete(project: Project, id: string): Promise<void> {
    await this.get(project, id);
    await this.#deps.records.change(id, (current) => ({
      next: { ...(current as Webhook), deleted_ms: this.#deps.clock.now(), is_active: false },
      result: undefined,
    }));
    await this.#deps.cache.invalidate();
  }
}

function withChanges<Row extends Omit<Webhook, 'version'>>(current: Row, changes: WebhookChanges): Row {
  const { name = current.name, url = current.url, events = current.events } = changes;
  requireHttpUrl(url, 'url');
  if (events.length === 0) throw new RequestRefused('bad_request', 'Select at least one event.', 'events');
  return {
    ...current,
    name: cleanLine(name).slice(0, 255),
    url,
    events,
    is_active: changes.is_active ?? current.is_active,
  };
}
