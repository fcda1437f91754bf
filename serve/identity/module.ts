import { openAccounts } from '../accounts/accounts.ts';
import { identitySettings } from '../accounts/settings.ts';
import { accountTables } from '../accounts/tables.ts';

/** Settings, tables and state of identity. Its routes are in `routes.ts`, which only a server loads. */
export const identityModule = {
  settings: identitySettings,
  tables: accountTables,
  open: openAccounts,
};
