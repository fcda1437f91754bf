import { openAccounts } from './accounts/accounts.ts';
import { accountTables } from './accounts/tables.ts';
import { identitySettings } from './settings.ts';

/** What identity brings to the product. Its routes are in `routes.ts`, which only a server loads. */
export const identityModule = {
  settings: identitySettings,
  tables: accountTables,
  open: openAccounts,
};
