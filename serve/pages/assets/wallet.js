// Sign-in with a browser wallet: lists its accounts, fetches a challenge and submits the signature. Polkadot wallet
// extensions register themselves in `window.injectedWeb3`.

const SCHEMES = ['sr25519', 'ed25519', 'ecdsa'];
/** Time for extensions to register after the page has loaded. */
const REGISTRATION_MS = 1500;

for (const form of document.querySelectorAll('form[data-wallet]')) prepare(form);

function prepare(form) {
  const button = form.querySelector('button');
  const status = form.querySelector('[data-status]');
  const choice = form.querySelector('[data-accounts]');
  const select = choice.querySelector('select');
  let accounts = [];
  button.disabled = false;

  button.addEventListener('click', async () => {
    status.textContent = '';
    if (!form.reportValidity()) return;
    button.disabled = true;
    try {
      if (accounts.length === 0) {
        accounts = await findAccounts();
        for (const [i, { address, name }] of accounts.entries()) {
          select.add(new Option(name ? `${name} (${short(address)})` : short(address), String(i)));
        }
        choice.hidden = accounts.length < 2;
        if (accounts.length > 1) {
          status.textContent = 'Select an account, then select the button again.';
          select.focus();
          return;
        }
      }
      await sign(form, accounts[Number(select.value) || 0]);
    } catch (error) {
      status.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      button.disabled = false;
    }
  });
}

async function findAccounts() {
  const wallets = await registeredWallets();
  if (wallets.length === 0) {
    throw new Error('No wallet found. Install a Polkadot wallet extension and reload the page.');
  }
  const found = [];
  for (const [, wallet] of wallets) {
    const injected = await wallet.enable('Chain Metrics');
    for (const account of await injected.accounts.get()) found.push({ ...account, signer: injected.signer });
  }
  const usable = found.filter(({ type, signer }) => signer?.signRaw && (!type || SCHEMES.includes(type)));
  if (usable.length === 0)
    throw new Error(
      'The wallet has no account that can sign in. Add a Substrate account to it and try again.',
    );
  return usable;
}

async function registeredWallets() {
  const until = Date.now() + REGISTRATION_MS;
  for (;;) {
    const wallets = Object.entries(window.injectedWeb3 ?? {});
    if (wallets.length > 0 || Date.now() > until) return wallets;
    await new Promise((done) => setTimeout(done, 100));
  }
}

async function sign(form, { address, type = 'sr25519', signer }) {
  const body = new URLSearchParams({
    form_token: form.elements.form_token.value,
    purpose: form.dataset.wallet,
    address,
    scheme: type,
  });
  const answer = await fetch('/wallet/challenge', { method: 'POST', body, credentials: 'same-origin' });
  if (answer.status === 429) throw new Error('Too many attempts. Try again in a minute.');
  if (!answer.headers.get('content-type')?.includes('json')) {
    throw new Error('The page has expired. Reload it.');
  }
  const { sealed, message, error } = await answer.json();
  if (error) throw new Error(error);
  const { signature } = await signer.signRaw({ address, data: hex(message), type: 'bytes' });
  form.elements.sealed.value = sealed;
  form.elements.signature.value = signature;
  form.submit();
}

function hex(text) {
  return `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function short(address) {
  return `${address.slice(0, 8)}…${address.slice(-6)}`;
}
