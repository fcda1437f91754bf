import { ALERTS_TOPIC } from './model/event.ts';
import { alertTables } from './model/tables.ts';
import { alertSettings } from './settings.ts';

/** What alerts bring to the product. */
export const alertsModule = {
  settings: alertSettings,
  tables: alertTables,
  topics: [ALERTS_TOPIC],
};
