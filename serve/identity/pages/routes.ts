import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { publicUrl } from '../../http/public-url.ts';
import { serveAssets } from '../../pages/assets.ts';
import { servePages } from '../../pages/page.ts';
import { serveAccount } from './account.ts';
import { serveApplications } from './applications.ts';
import { serveEmail } from './email.ts';
import { serveForgottenPassword } from './forgotten-password.ts';
import { serveKeys } from './keys.ts';
import { serveProfileOverview } from './overview.ts';
import { serveSecurity } from './security.ts';
import { serveSessions } from './sessions.ts';
import { serveSignIn } from './sign-in.ts';
import { serveSignUp } from './sign-up.ts';
import { serveWallets } from './wallet-sign-in.ts';
import { serveWalletPages } from './wallets.ts';

/** The pages for sign-in, sign-up and the profile of a user. */
export async function serveProfilePages(app: FastifyInstance, accounts: Accounts): Promise<void> {
  const origin = () => publicUrl(app, accounts.settings);
  serveAssets(app);
  await servePages(app, accounts, async (pages) => {
    serveSignIn(pages, accounts);
    serveSignUp(pages, accounts);
    serveForgottenPassword(pages, accounts);
    serveWallets(pages, accounts, origin);
    serveProfileOverview(pages, accounts, origin);
    serveKeys(pages, accounts);
    serveApplications(pages, accounts);
    serveWalletPages(pages, accounts);
    serveEmail(pages, accounts);
    serveSecurity(pages, accounts);
    serveSessions(pages, accounts);
    serveAccount(pages, accounts);
  });
}
