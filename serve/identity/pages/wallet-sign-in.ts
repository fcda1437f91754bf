import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { FieldError } from '../../accounts/field-error.ts';
import { authenticatedAccount } from '../../accounts/principal.ts';
import { signInPath } from '../../accounts/sessions.ts';
import {
  challengeWallet,
  linkWallet,
  proveWallet,
  signUpByWallet,
  WalletError,
  type WalletProof,
  type WalletPurpose,
} from '../../accounts/wallets.ts';
import { addressKey } from '../../http/client-address.ts';
import { limitEveryone } from '../../http/rate-limit.ts';
import { formOf, visitorOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { reauthenticate } from './security.ts';
import { continueSignIn, nextPath } from './sign-in-steps.ts';

const PATHS: Record<WalletPurpose, string> = {
  'sign in': '/sign-in/wallet',
  'link this account': '/profile/wallets',
};

/** The form that the script of the page completes with the signature of the wallet. */
export function walletButton({
  token,
  purpose,
  next = '',
  confirmation = false,
}: {
  token: Html;
  purpose: WalletPurpose;
  next?: string;
  /** The field by which the user confirms the change. */
  confirmation?: Html | false;
}): Html {
  return html`<form method="post" action="${PATHS[purpose]}" data-wallet="${purpose}">${token}
<input type="hidden" name="next" value="${next}"><input type="hidden" name="sealed"><input type="hidden" name="signature">
${confirmation}
<div class="field" data-accounts hidden><label for="wallet-account">Account</label><select id="wallet-account"></select></div>
<button type="button" class="second whole" disabled>${purpose === 'sign in' ? 'Sign in with a Polkadot wallet' : 'Link a Polkadot wallet'}</button>
<p class="fault" role="alert" data-status></p>
<noscript><p class="hint">Wallet sign-in requires JavaScript.</p></noscript></form>`;
}

/** The two steps of a wallet: the challenge and the signature. */
export function serveWallets(pages: FastifyInstance, accounts: Accounts, origin: () => string): void {
  pages.register(async (scope) => serveChallenges(scope, accounts, origin));
  pages.post(PATHS['sign in'], async (request, reply) => {
    const form = formOf(request);
    const next = nextPath(form.text('next'));
    const answer = {
      sealed: form.text('sealed'),
      signature: form.text('signature'),
      holder: visitorOf(accounts, request) ?? '',
    };
    let refusal = '';
    const refused = (error: unknown) => {
      if (!(error instanceof WalletError)) throw error;
      refusal = error.message;
      return null;
    };
    const address = addressKey(request);
    const proof = await accounts.attempts.runByAddress('wallet', address, () =>
      proveWallet(accounts, answer).catch(refused),
    );
    // A new account counts towards the accounts that the address may create.
    const signUp = (wallet: WalletProof) =>
      accounts.attempts.signUp(address, () => signUpByWallet(accounts, wallet)).catch(refused);
    const user = proof && (proof.user ?? (await signUp(proof)));
    if (user === null) return seeOther(reply, signInPath(next), refusal, 'bad');
    return continueSignIn(accounts, reply, { user, amr: ['swk'] }, next);
  });
  serveLink(pages, accounts);
}

/** Challenges need no authentication, so their number per address is limited. */
function serveChallenges(scope: FastifyInstance, accounts: Accounts, origin: () => string): void {
  const max = accounts.settings.WALLET_CHALLENGES_PER_MINUTE;
  const authenticate = (request: FastifyRequest) => authenticatedAccount(accounts, request);
  limitEveryone(scope, { name: 'wallet', max, seconds: 60 }, { ...accounts, authenticate });
  scope.post('/wallet/challenge', async (request, reply) => {
    const form = formOf(request);
    const purpose: WalletPurpose =
      form.text('purpose') === 'link this account' ? 'link this account' : 'sign in';
    const holder =
      purpose === 'sign in' ? (visitorOf(accounts, request) ?? '') : (await request.requireUser()).id;
    const challenge = {
      address: form.text('address'),
      scheme: form.text('scheme'),
      purpose,
      origin: origin(),
      holder,
    };
    reply.header('cache-control', 'no-store');
    try {
      return reply.send(challengeWallet(accounts, challenge));
    } catch (error) {
      if (!(error instanceof WalletError)) throw error;
      return reply.code(422).send({ error: error.message });
    }
  });
}

function serveLink(pages: FastifyInstance, accounts: Accounts): void {
  pages.post(PATHS['link this account'], async (request, reply) => {
    const user = await request.requireUser();
    const form = formOf(request);
    try {
      await reauthenticate(accounts, request, user);
      const address = await linkWallet(accounts, user, {
        sealed: form.text('sealed'),
        signature: form.text('signature'),
      });
      return seeOther(
        reply,
        '/profile/wallets',
        `The wallet ${address} was linked. You can now sign in with it.`,
      );
    } catch (error) {
      if (!(error instanceof WalletError || error instanceof FieldError)) throw error;
      return seeOther(reply, '/profile/wallets', error.message, 'bad');
    }
  });
}
