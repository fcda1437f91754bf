import type { Clock } from '../../../infra/ports.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { NotificationRules } from '../model/oncall-tables.ts';
import type { Contacts } from './contacts.ts';

const RULES_MAX = 10;
const MINUTES_MAX = 1440;

/** One contact that is notified of a page, and the delay. */
export interface NotificationRule {
  readonly contactId: string;
  readonly afterMinutes: number;
}

/** The notification rules of a user. */
export interface UserRules {
  /** Empty until the user sets rules. */
  readonly default: readonly NotificationRule[];
  /** For important steps. Empty means the default rules. */
  readonly important: readonly NotificationRule[];
  /** Notifies the user when a page is acknowledged or resolved. */
  readonly statusUpdates: boolean;
}

const UNSET: UserRules = { default: [], important: [], statusUpdates: true };

interface NotificationRulesDependencies {
  readonly records: Records<NotificationRules>;
  readonly contacts: Pick<Contacts, 'find' | 'defaultContact' | 'verified'>;
  readonly clock: Clock;
}

/** Stores which contacts of a user are notified of a page, and when. */
export class NotificationRulesStore {
  readonly #deps: NotificationRulesDependencies;

  constructor(dependencies: NotificationRulesDependencies) {
    this.#deps = dependencies;
  }

  async get(userId: string): Promise<UserRules> {
    const row = await this.#deps.records.get(userId);
    return row === null
      ? UNSET
      : {
          default: JSON.parse(row.default_rules) as NotificationRule[],
          important: JSON.parse(row.important_rules) as NotificationRule[],
          statusUpdates: row.status_updates,
        };
  }

  /**
   * The rules that apply to a page, with verified contacts only. If there are none, the first verified contact is
   * notified at once. So only users without a verified contact are not reached.
   */
  async rulesFor(userId: string, isImportant: boolean): Promise<readonly NotificationRule[]> {
    const { contacts } = this.#deps;
    const rules = await this.get(userId);
    for (const list of isImportant ? [rules.important, rules.default] : [rules.default]) {
      const usable = await this.#usable(list);
      if (usable.length > 0) return usable;
    }
    const contactId = await contacts.defaultContact(userId);
    return contactId === null ? [] : [{ contactId, afterMinutes: 0 }];
  }

  async #usable(list: readonly NotificationRule[]): Promise<NotificationRule[]> {
    const found = await Promise.all(list.map(({ contactId }) => this.#deps.contacts.find(contactId)));
    return list.filter((_, i) => found[i] !== null);
  }

  async wantsStatusUpdates(userId: string): Promise<boolean> {
    return (await this.get(userId)).statusUpdates;
  }

  /** True if a rule of the user names the contact. */
  async uses(userId: string, contactId: string): Promise<boolean> {
    const rules = await this.get(userId);
    return [...rules.default, ...rules.important].some((rule) => rule.contactId === contactId);
  }

  /** Replaces the given lists and keeps the others. */
  async put(userId: string, input: Partial<UserRules>): Promise<UserRules> {
    const { records, contacts, clock } = this.#deps;
    const verified = await contacts.verified(userId);
    for (const name of ['default', 'important'] as const) requireRules(name, input[name] ?? [], verified);
    const before = await this.get(userId);
    const next = { ...before, ...input };
    await records.change(userId, (current) => ({
      next: {
        id: userId,
        expires_ms: 0,
        default_rules: JSON.stringify(next.default),
        important_rules: JSON.stringify(next.important),
        status_updates: next.statusUpdates,
        calendar_hash: current?.calendar_hash ?? '',
        created_ms: current?.created_ms ?? clock.now(),
      },
      result: undefined,
    }));
    return next;
  }
}

function requireRules(field: string, rules: readonly NotificationRule[], verified: readonly string[]): void {
  const refused = (text: string) => new RequestRefused('bad_request', text, field);
  if (rules.length > RULES_MAX) throw refused(`Enter at most ${RULES_MAX} rules.`);
  for (const { contactId, afterMinutes } of rules) {
    if (!verified.includes(contactId))
      throw refused(
        `${contactId} is not one of your verified contacts. Enter the code that was sent to it first.`,
      );
    if (!Number.isInteger(afterMinutes) || afterMinutes < 0 || afterMinutes > MINUTES_MAX)
      throw refused(`Enter a wait from 0 to ${MINUTES_MAX} minutes.`);
  }
}
