import type { AlertSettings } from '../../../aggregate/alerts/model/settings.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Clock, Queue, Store } from '../../../infra/ports.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Channels } from '../destinations/channels.ts';
import type { Contacts } from '../destinations/contacts.ts';
import type { NotificationRulesStore } from '../destinations/rules.ts';
import type { ConsumerProgress } from '../events/consumer-progress.ts';
import type { MessageSender } from '../messages/send.ts';
import type { Policies } from '../oncall/policies.ts';
import type { Routes } from '../oncall/routes.ts';
import type { Schedules } from '../oncall/schedules.ts';
import { AcknowledgeLinks } from '../paging/acknowledge-links.ts';
import { LinkedPages } from '../paging/linked-pages.ts';
import { PageDeliveries } from '../paging/page-deliveries.ts';
import { PageMessages } from '../paging/page-messages.ts';
import type { PageMetrics } from '../paging/page-metrics.ts';
import { PageRetention } from '../paging/page-retention.ts';
import { FALLBACK, PageSteps } from '../paging/page-steps.ts';
import { PageStore } from '../paging/page-store.ts';
import { Pager } from '../paging/pager.ts';
import { SuppressedPages } from '../paging/suppressed-pages.ts';
import type { AlertActions } from '../projects/alert-actions.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { Members } from '../projects/members.ts';
import type { Projects } from '../projects/projects.ts';
import type { UserLookup } from '../projects/users.ts';
import type { Suppressor } from '../suppression/suppressor.ts';

export type PagingSettings = Pick<
  AlertSettings,
  | 'PAGE_BUNDLE_SECONDS'
  | 'PAGE_FALLBACK_EMAIL'
  | 'PAGE_GIVE_UP_HOURS'
  | 'PAGE_LINK_HOURS'
  | 'PAGE_UNREACHED_SECONDS'
  | 'RETENTION_PAGES_DAYS'
>;

interface PagingDependencies {
  readonly store: Store;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly accounts: Accounts;
  readonly pipeline: AlertPipeline;
  readonly progress: ConsumerProgress;
  readonly projects: Projects;
  readonly members: Members;
  readonly users: UserLookup;
  readonly reader: AlertReader;
  readonly actions: AlertActions;
  readonly schedules: Schedules;
  readonly policies: Policies;
  readonly alertRoutes: Routes;
  readonly suppressor: Suppressor;
  readonly contacts: Contacts;
  readonly notificationRules: NotificationRulesStore;
  readonly channels: Channels;
  readonly messageSender: MessageSender;
  readonly settings: PagingSettings;
  readonly metrics: PageMetrics;
  readonly publicUrl: () => string;
  /** Applies all stored events to the pages of a project. */
  readonly catchUp: (project: number) => Promise<void>;
}

/** The parts that page people. */
export interface Paging {
  readonly pager: Pager;
  readonly pageSteps: PageSteps;
  readonly suppressedPages: SuppressedPages;
  readonly pageDeliveries: PageDeliveries;
  readonly pageStore: PageStore;
  readonly pageRetention: PageRetention;
  readonly acknowledgeLinks: AcknowledgeLinks;
  readonly linkedPages: LinkedPages;
}

export function openPaging(dependencies: PagingDependencies): Paging {
  const { accounts, settings, alertRoutes, notificationRules, messageSender } = dependencies;
  const { locks, seal } = accounts;
  const email = settings.PAGE_FALLBACK_EMAIL;
  const fallback =
    email === undefined
      ? null
      : { id: FALLBACK, type: 'email' as const, isChannel: false, settings: { address: email } };
  const shared = {
    ...{ ...dependencies, locks, seal, store: new PageStore(dependencies.store) },
    ...{ routes: alertRoutes, rules: notificationRules, sender: messageSender },
  };
  const acknowledgeLinks = new AcknowledgeLinks(shared);
  const messages = new PageMessages({ ...shared, links: acknowledgeLinks });
  const pageDeliveries = new PageDeliveries({ ...shared, fallback, messages });
  const pageSteps = new PageSteps({ ...shared, recipients: shared, deliveries: pageDeliveries });
  return {
    pager: new Pager({ ...shared, steps: pageSteps, deliveries: pageDeliveries }),
    pageSteps,
    suppressedPages: new SuppressedPages({ ...shared, steps: pageSteps }),
    pageDeliveries,
    pageStore: shared.store,
    pageRetention: new PageRetention({ ...dependencies, locks }),
    acknowledgeLinks,
    linkedPages: new LinkedPages({ ...shared, steps: pageSteps }),
  };
}
