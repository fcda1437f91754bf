import { ALERTS_GROUP, ALERTS_TOPIC } from './model/event.ts';
import { alertSettings } from './model/settings.ts';
import { alertTables } from './model/tables.ts';

/** What alerts bring to the product. */
export const alertsModule = {
  settings: alertSettings,
  tables: alertTables,
  consumed: [{ topic: ALERTS_TOPIC, group: ALERTS_GROUP, isStored: true }],
};
