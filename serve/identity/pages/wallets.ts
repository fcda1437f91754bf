import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { unlinkWallet, WalletError, walletsOf } from '../../accounts/wallets.ts';
import { button, table, time } from '../../pages/fields.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { confirmationField } from './security.ts';
import { walletButton } from './wallet-sign-in.ts';

const PATH = '/profile/wallets';

/** The linked wallets of a user. */
export function serveWalletPages(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => {
    const user = await request.requireUser();
    const token = await reply.formToken();
    const wallets = await walletsOf(accounts, user.id);
    const body = html`<h1>Wallets</h1>
<p class="lead">Sign in with a Polkadot account by signing a message. Signing is free and sends no transaction.</p>
${table({
  caption: 'Linked wallets',
  head: ['Account', 'Key type', 'Linked', 'Last used', ''],
  rows: wallets.map((wallet) => [
    html`<code>${wallet.address}</code>`,
    html`<span class="tag">${wallet.scheme}</span>`,
    time(wallet.linked_ms),
    time(wallet.used_ms),
    button(`${PATH}/${wallet.id}/unlink`, token, 'Unlink', `Unlink ${wallet.address}`),
  ]),
  empty: 'You have no linked wallets.',
})}
<section class="card"><h2>Link a wallet</h2><p>Works with every Polkadot wallet that runs as a browser extension.</p>
${walletButton({ token, purpose: 'link this account', confirmation: confirmationField(user, 'password-link') })}</section>`;
    return reply.page({ title: 'Wallets', body, script: 'wallet.js' });
  });

  pages.post<{ Params: { id: string } }>(`${PATH}/:id/unlink`, async (request, reply) => {
    const user = await request.requireUser();
    try {
      await unlinkWallet(accounts, user, request.params.id);
    } catch (error) {
      if (!(error instanceof WalletError)) throw error;
      return seeOther(reply, PATH, error.message, 'bad');
    }
    return seeOther(reply, PATH, 'The wallet was unlinked.');
  });
}
