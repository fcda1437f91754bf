import { ALERTS_GROUP, ALERTS_TOPIC } from './model/event.ts';
import { alertSettings } from './model/settings.ts';
import { alertTables } from './model/tables.ts';

/** The settings, tables and topics of alerts. */
export const alertsModule = {
  settings: alertSettings,
  tables: alertTables,
  consumed: [{ topic: ALERTS_TOPIC, group: ALERTS_GROUP, isStored: true }],
};
