import { projectTables } from './projects/tables.ts';
import { serveAlerts } from './routes.ts';

/** What the alert pages, the alert API and the webhook receiver bring to the composition root. */
export const alertsModule = {
  tables: projectTables,
  routes: { serveAlerts },
} as const;
