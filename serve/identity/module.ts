import { openAccounts } from './accounts/accounts.ts';
import { startAccountMaintenance } from './accounts/maintenance.ts';
import { accountTables } from './accounts/tables.ts';
import { serveOAuth } from './oauth/routes.ts';
import { serveConsole } from './pages/routes.ts';
import { identitySettings } from './settings.ts';

/** What the identity domain brings to the composition root. */
export const identityModule = {
  settings: identitySettings,
  tables: accountTables,
  open: openAccounts,
  routes: { serveConsole, serveOAuth },
  maintenance: startAccountMaintenance,
} as const;
