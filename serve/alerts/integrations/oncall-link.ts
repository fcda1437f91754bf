import type { Clock } from '../../../infra/ports.ts';
import { newSecret } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import type { Outbox } from '../events/outbox.ts';
import { RequestRefused } from '../model/access.ts';
import type { Integration } from '../model/tables.ts';
import { httpIntegration } from './http.ts';
import type { IntegrationType } from './integration-type.ts';

/**
 * A link to an on-call tool: every alert of the project is forwarded to it. While a link is active, no other integration
 * can be active. So the link also receives alerts, through a URL and a key of its own, and is stored as an integration.
 */
export const oncallLink: IntegrationType = {
  name: 'oncall',
  apiName: 'ONCALL',
  label: 'On-call tool',
  endpoint: httpIntegration.endpoint,
  settings: [
    {
      name: 'api_url',
      label: 'On-call tool URL',
      hint: 'All alerts are forwarded to this URL. The authorization key signs the requests.',
      isRequired: true,
    },
  ],
  hasMapping: false,
  newKey: newSecret,
  isLimitedByPlan: false,
};

type LinkOrIntegration = Pick<Integration, 'type' | 'name' | 'is_active'>;

export const isOncallLink = ({ type }: Pick<Integration, 'type'>): boolean => type === oncallLink.name;
export const isActiveOncallLink = (row: LinkOrIntegration): boolean => isOncallLink(row) && row.is_active;

export interface OncallLink {
  readonly id: string;
  readonly projectId: string;
  readonly url: string;
  /** The current key, and the previous key while that is valid. */
  readonly encryptedKeys: readonly string[];
}

/** Refuses to activate a link if another integration is active, or an integration if a link is active. */
export function requireExclusive(row: LinkOrIntegration, others: readonly LinkOrIntegration[]): void {
  if (!row.is_active) return;
  const active = others.filter(({ is_active }) => is_active);
  if (isOncallLink(row) && active.length > 0) {
    const names = active.map(({ name }) => name).join(', ');
    throw new RequestRefused('conflict', `Deactivate the other integrations first: ${names}.`, 'active');
  }
  if (active.some(isOncallLink)) {
    throw new RequestRefused(
      'conflict',
      'The on-call tool integration is active. Deactivate it before you activate another integration.',
      'active',
    );
  }
}

export class OncallLinks {
  readonly #records: Records<Integration>;
  readonly #outbox: Outbox;
  readonly #clock: Clock;

  constructor(dependencies: { records: Records<Integration>; outbox: Outbox; clock: Clock }) {
    this.#records = dependencies.records;
    this.#outbox = dependencies.outbox;
    this.#clock = dependencies.clock;
  }

  /** Null if the link does not exist or is inactive. */
  async findActive(projectId: string, linkId: string): Promise<OncallLink | null> {
    const row = await this.#records.get(linkId);
    if (row === null || row.project_id !== projectId || row.deleted_ms > 0 || !isActiveOncallLink(row))
      return null;
    const isOldValid = row.old_key_ends_ms > this.#clock.now();
    const keys = [row.sealed_key, isOldValid ? row.old_sealed_key : ''];
    return { id: row.id, projectId, url: row.api_url, encryptedKeys: keys.filter((key) => key !== '') };
  }

  /** Called before activation. Skips earlier events, because a link forwards only later ones. */
  async beforeActivation(row: Pick<Integration, 'id' | 'type' | 'project_id'>): Promise<void> {
    if (isOncallLink(row)) await this.#outbox.skipHistory(Number(row.project_id), row.id);
  }

  /** Called after a change, to retry waiting notifications at once. */
  async afterChange(
    row: Pick<Integration, 'id' | 'type' | 'name' | 'is_active' | 'project_id'>,
  ): Promise<void> {
    if (isActiveOncallLink(row)) await this.#outbox.retryNow(Number(row.project_id), row.id);
  }
}
