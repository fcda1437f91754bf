import { globalAgent } from 'node:https';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Clock, Queue, Store } from '../../../infra/ports.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { Records } from '../../stored-records/records.ts';
import type { Outbox } from '../events/outbox.ts';
import { Refusals } from '../intake/refusals.ts';
import { SnsIntake } from '../intake/sns.ts';
import { TestAlerts } from '../intake/test-alerts.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import { Integrations } from '../integrations/integrations.ts';
import { OncallLinks } from '../integrations/oncall-link.ts';
import { ReceivedDeliveries } from '../integrations/received-deliveries.ts';
import type { PayloadSizes } from '../integrations/samples.ts';
import * as tables from '../model/tables.ts';
import { SigningCertificates } from '../sns/certificates.ts';
import { SnsSubscriptions } from '../sns/subscriptions.ts';

/** Integrations and intake. */
export interface IntegrationParts {
  readonly integrations: Integrations;
  readonly oncallLinks: OncallLinks;
  readonly receivedDeliveries: ReceivedDeliveries;
  readonly refusals: Refusals;
  readonly sns: SnsIntake;
  readonly snsSubscriptions: SnsSubscriptions;
  readonly testAlerts: TestAlerts;
}

interface IntegrationDependencies {
  readonly runtime: { readonly store: Store; readonly queue: Queue; readonly clock: Clock };
  readonly accounts: Accounts;
  readonly pipeline: AlertPipeline;
  readonly records: Records<tables.Integration>;
  readonly cache: IntegrationCache;
  readonly outbox: Outbox;
  readonly payloadSizes: PayloadSizes;
  readonly payloadBytesMax: number;
}

export function openIntegrations(dependencies: IntegrationDependencies): IntegrationParts {
  const { runtime, accounts, pipeline, cache, payloadBytesMax } = dependencies;
  const { locks, seal } = accounts;
  const owned = { ...dependencies, ...runtime, locks, seal };
  const oncallLinks = new OncallLinks(owned);
  const integrations = new Integrations({ ...owned, oncallLinks });
  const amazon = { ...runtime, agent: globalAgent };
  const certificates = new SigningCertificates(amazon);
  const subscriptions = new SnsSubscriptions({
    ...amazon,
    records: new Records<tables.SnsSubscription>(accounts, tables.snsSubscriptions),
  });
  return {
    integrations,
    oncallLinks,
    receivedDeliveries: new ReceivedDeliveries({ ...runtime, pipeline }),
    refusals: new Refusals(runtime),
    sns: new SnsIntake({ ...runtime, integrations, certificates, subscriptions }),
    snsSubscriptions: subscriptions,
    testAlerts: new TestAlerts({ integrations, cache, pipeline, payloadBytesMax }),
  };
}
