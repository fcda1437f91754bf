import { randomBytes } from 'node:crypto';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { decodeAddress } from '../../../ingest/chains/address.ts';
import type { Accounts } from './accounts.ts';
import { createUser, findUser } from './people.ts';
import { newLocator } from './secrets.ts';
import type { User, Wallet } from './tables.ts';
import { isScheme, isSignedBy, type Scheme } from './wallet-signature.ts';

const CHALLENGE_MS = 5 * 60_000;

/** What a wallet is asked to sign for. A signature for one is never taken for the other. */
export type WalletPurpose = 'sign in' | 'link this account';

/** Why a wallet was refused, for the person who holds it. */
export class WalletError extends Error {}

interface Challenge {
  readonly message: string;
  readonly accountId: string;
  readonly address: string;
  readonly scheme: Scheme;
  readonly purpose: WalletPurpose;
  /** Who may answer: a user's id, or the visitor who asked. */
  readonly holder: string;
  readonly expires_ms: number;
}

/** A message for the wallet to sign, and the nonce under which the answer is awaited, once and for five minutes. */
export async function challengeWallet(
  accounts: Accounts,
  asked: { address: string; scheme: string; purpose: WalletPurpose; origin: string; holder: string },
): Promise<{ readonly nonce: string; readonly message: string }> {
  const { address, scheme, purpose, origin, holder } = asked;
  const account = decodeAddress(address);
  if (account === null || account.key.length !== 66) throw new WalletError('This is not a Polkadot address.');
  if (!isScheme(scheme))
    throw new WalletError('This kind of key is not supported; use sr25519, ed25519 or ecdsa.');
  const nonce = newLocator();
  const now = accounts.clock.now();
  const expires_ms = now + CHALLENGE_MS;
  const message = [
    `${new URL(origin).host} wants you to ${purpose} with your Polkadot account:`,
    address,
    '',
    'Signing costs nothing and sends no transaction.',
    '',
    `URI: ${origin}`,
    `Purpose: ${purpose}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date(now).toISOString()}`,
    `Expiration Time: ${new Date(expires_ms).toISOString()}`,
  ].join('\n');
  const challenge: Challenge = {
    message,
    accountId: account.key,
    address,
    scheme,
    purpose,
    holder,
    expires_ms,
  };
  await accounts.keyValue.set(`wallet/${nonce}`, JSON.stringify(challenge), { ttlMs: CHALLENGE_MS });
  return { nonce, message };
}

/** The wallet whose challenge was signed; a `WalletError` for anything else. A challenge is over after one answer. */
async function signedChallenge(
  accounts: Accounts,
  answer: { nonce: string; signature: string; purpose: WalletPurpose; holder: string },
): Promise<Challenge> {
  const recordTable = /^[A-Za-z0-9_-]{22}$/.test(answer.nonce)
    ? await accounts.keyValue.take(`wallet/${answer.nonce}`)
    : null;
  const challenge = recordTable === null ? null : (JSON.parse(recordTable) as Challenge);
  if (challenge === null || challenge.expires_ms <= accounts.clock.now()) {
    throw new WalletError('The message is too old or was signed already. Start again.');
  }
  const isRight =
    challenge.purpose === answer.purpose &&
    challenge.holder === answer.holder &&
    isSignedBy(challenge.accountId, challenge.scheme, challenge.message, answer.signature);
  if (!isRight) throw new WalletError('The signature does not belong to this account and message.');
  return challenge;
}

/** The user of a wallet that signed; a new one when nobody has linked it, if people may sign up. */
export async function userByWallet(
  accounts: Accounts,
  answer: { nonce: string; signature: string; holder: string },
): Promise<User> {
  const challenge = await signedChallenge(accounts, { ...answer, purpose: 'sign in' });
  return accounts.locks.run(`wallet/${challenge.accountId}`, async () => {
    const wallet = await accounts.wallets.get(challenge.accountId);
    const user = wallet && wallet.user_id !== '' ? await accounts.users.get(wallet.user_id) : null;
    if (wallet && user) {
      if (wallet.scheme !== challenge.scheme)
        throw new WalletError('This account was linked with another kind of key.');
      if (user.locked_ms > 0) throw new WalletError('This account is locked.');
      await keepWallet(accounts, challenge, user.id, wallet.linked_ms);
      return user;
    }
    if (accounts.settings.SIGN_UP === 'closed') {
      throw new WalletError('No account has linked this wallet. Sign in another way and link it first.');
    }
    const name = nameOf(challenge);
    const username = (await findUser(accounts, name)) ? `${name}-${randomBytes(4).toString('hex')}` : name;
    const created = await createUser(accounts, { username, email: '', password: null });
    await keepWallet(accounts, challenge, created.id, accounts.clock.now());
    return created;
  });
}

/** Links a wallet that signed to a user. */
export async function linkWallet(
  accounts: Accounts,
  user: User,
  answer: { nonce: string; signature: string },
): Promise<Wallet['address']> {
  const challenge = await signedChallenge(accounts, {
    ...answer,
    purpose: 'link this account',
    holder: user.id,
  });
  const mine = await walletsOf(accounts, user.id);
  if (mine.length >= accounts.settings.KEYS_PER_ACCOUNT)
    throw new WalletError('You have linked as many wallets as are allowed.');
  await accounts.locks.run(`wallet/${challenge.accountId}`, async () => {
    const wallet = await accounts.wallets.get(challenge.accountId);
    if (wallet && wallet.user_id !== '' && wallet.user_id !== user.id) {
      throw new WalletError('This wallet belongs to another account here. Unlink it there first.');
    }
    await keepWallet(accounts, challenge, user.id, accounts.clock.now());
  });
  return challenge.address;
}

/** Unlinks a wallet; the last way into an account stays. */
export async function unlinkWallet(accounts: Accounts, user: User, id: string): Promise<void> {
  const mine = await walletsOf(accounts, user.id);
  if (user.password_hash === '' && mine.length <= 1) {
    throw new WalletError('This wallet is the only way into your account. Set a password first.');
  }
  await accounts.wallets.change(id, (wallet) =>
    wallet?.user_id === user.id
      ? { next: { ...wallet, user_id: '', expires_ms: accounts.clock.now() }, result: null }
      : { result: null },
  );
}

export function walletsOf(accounts: Accounts, user_id: string): Promise<Wallet[]> {
  return accounts.wallets.find(sql`user_id = ${user_id}`, 'linked_ms, id');
}

function keepWallet(
  accounts: Accounts,
  { accountId, address, scheme }: Challenge,
  user_id: string,
  linked_ms: number,
): Promise<null> {
  const used_ms = accounts.clock.now();
  return accounts.wallets.change(accountId, () => ({
    next: { id: accountId, user_id, address, scheme, linked_ms, used_ms, expires_ms: 0 },
    result: null,
  }));
}

/** A name that says what it is. */
const nameOf = ({ accountId }: Challenge) => `wallet-${accountId.slice(2, 18)}`;
