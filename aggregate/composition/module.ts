import { alertsModule } from '../alerts/module.ts';
import { materializedMetrics, metrics } from '../metrics/index.ts';
import { tablesWithRecipes } from '../metrics/recipes.ts';
import { frozenRows } from '../retention/frozen-rows.ts';
import { ledgerTables, resetWatermark } from '../runner/ledger.ts';
import { foldedEntities } from '../runner/refold.ts';
import { aggregateSettings } from '../settings.ts';

/** What this area brings to the product. */
export const aggregateModule = {
  settings: aggregateSettings,
  tables: [...ledgerTables, foldedEntities, ...alertsModule.tables],
  consumed: alertsModule.consumed,
  /** Tables that are computed from the raw tables: a changed one is emptied and computed again. */
  derivedTables: tablesWithRecipes(materializedMetrics),
  irreplaceableRows: frozenRows,
  resetDerivedTable: resetWatermark,
  metrics,
};
