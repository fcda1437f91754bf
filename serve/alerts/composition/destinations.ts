import type { Clock } from '../../../infra/ports.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Mailer } from '../../mail/mailer.ts';
import { Records } from '../../stored-records/records.ts';
import { Channels } from '../destinations/channels.ts';
import { Contacts } from '../destinations/contacts.ts';
import { NotificationRulesStore } from '../destinations/rules.ts';
import { MessageSender, type TelegramSettings } from '../messages/send.ts';
import * as tables from '../model/oncall-tables.ts';

export type DestinationsSettings = TelegramSettings & { readonly ALERT_PRIVATE_TARGETS: boolean };

/** Destinations of pages, and their senders. */
export interface Destinations {
  readonly channels: Channels;
  readonly contacts: Contacts;
  readonly messageSender: MessageSender;
  readonly mailer: Mailer;
  readonly notificationRules: NotificationRulesStore;
}

export interface DestinationsDependencies {
  readonly accounts: Accounts;
  readonly runtime: { readonly clock: Clock };
  readonly settings: DestinationsSettings;
  readonly publicUrl: () => string;
  /** Names of the policies that use a channel. */
  readonly policiesUsing: (projectId: string, channelId: string) => Promise<readonly string[]>;
}

export function openDestinations(dependencies: DestinationsDependencies): Destinations {
  const { accounts, runtime, settings, publicUrl, policiesUsing } = dependencies;
  const { clock } = runtime;
  const { limiters, locks, mailer, seal, users } = accounts;
  const messageSender = new MessageSender({
    clock,
    mailer,
    settings,
    allowsPrivate: settings.ALERT_PRIVATE_TARGETS,
  });
  const shared = { clock, limiters, locks, seal, sender: messageSender, publicUrl };
  const contacts = new Contacts({
    ...shared,
    records: new Records<tables.ContactMethod>(accounts, tables.contactMethods),
    users,
    isUsed: (userId, contactId) => notificationRules.uses(userId, contactId),
  });
  const notificationRules = new NotificationRulesStore({
    records: new Records<tables.NotificationRules>(accounts, tables.notificationRules),
    contacts,
    clock,
  });
  const channels = new Channels({
    ...shared,
    records: new Records<tables.NotificationChannel>(accounts, tables.notificationChannels),
    policiesUsing,
  });
  return { channels, contacts, mailer, messageSender, notificationRules };
}
