import type { AlertSettings } from '../../../aggregate/alerts/model/settings.ts';
import type { Clock, KeyValue, Store } from '../../../infra/ports.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { Records } from '../../stored-records/records.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import * as tables from '../model/suppression-tables.ts';
import { SilenceCache } from '../suppression/silence-cache.ts';
import { Silences } from '../suppression/silences.ts';
import { Suppressor } from '../suppression/suppressor.ts';
import { Windows } from '../suppression/windows.ts';

export type SuppressionSettings = Pick<AlertSettings, 'RETENTION_SILENCES_HOURS'>;

interface SuppressionDependencies {
  readonly runtime: { readonly store: Store; readonly keyValue: KeyValue; readonly clock: Clock };
  readonly accounts: Accounts;
  readonly cache: IntegrationCache;
  readonly settings: SuppressionSettings;
  /** Called after a silence or a window changes. */
  readonly onChanged: (projectId: string) => void;
}

/** Silences and maintenance windows: they suppress pages. */
export interface SuppressionParts {
  readonly suppressor: Suppressor;
  readonly silences: Silences;
  readonly windows: Windows;
}

export function openSuppression(dependencies: SuppressionDependencies): SuppressionParts {
  const { runtime, accounts, cache, onChanged, settings } = dependencies;
  const { store, keyValue, clock } = runtime;
  const records = new Records<tables.SilenceRow>(accounts, tables.alertSilences);
  const silenceCache = new SilenceCache({ keyValue, records, clock });
  const silences = new Silences({
    ...{ records, store, clock, onChanged, locks: accounts.locks, cache: silenceCache },
    retentionHours: settings.RETENTION_SILENCES_HOURS,
  });
  const windows = new Windows({
    records: new Records<tables.MaintenanceWindowRow>(accounts, tables.maintenanceWindows),
    ...{ keyValue, clock, onChanged, locks: accounts.locks },
  });
  return {
    suppressor: new Suppressor({ clock, silences: silenceCache, windows, integrations: cache }),
    silences,
    windows,
  };
}
