import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { startAccountMaintenance } from '../accounts/maintenance.ts';
import { startAccountMails } from './mail/send.ts';
import { serveOAuth } from './oauth/routes.ts';
import { serveProfilePages } from './pages/routes.ts';

/** The pages and OAuth endpoints of identity, and its periodic jobs. */
export async function serveIdentity(app: FastifyInstance, accounts: Accounts): Promise<void> {
  startAccountMaintenance(app, accounts);
  startAccountMails(app, accounts);
  await serveProfilePages(app, accounts);
  await serveOAuth(app, accounts);
}
