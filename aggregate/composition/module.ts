import { alertsModule } from '../alerts/module.ts';
import { materializedMetrics, metrics } from '../metrics/index.ts';
import { tablesWithRecipes } from '../metrics/recipes.ts';
import { frozenRows } from '../retention/frozen-rows.ts';
import { foldedEntities } from '../runner/compute-entities.ts';
import { ledgerTables, resetWatermark } from '../runner/ledger.ts';
import { aggregateSettings } from '../settings.ts';

export const aggregateModule = {
  settings: aggregateSettings,
  tables: [...ledgerTables, foldedEntities, ...alertsModule.tables],
  consumed: alertsModule.consumed,
  /** Computed from the raw tables: a table whose recipe changes is emptied and computed again. */
  derivedTables: tablesWithRecipes(materializedMetrics),
  irreplaceableRows: frozenRows,
  resetDerivedTable: resetWatermark,
  metrics,
};
