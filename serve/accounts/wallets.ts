import { randomBytes } from 'node:crypto';
import { sql } from '../../infra/sql.ts';
import { decodeAddress } from '../../ingest/chains/address.ts';
import type { Accounts } from './accounts.ts';
import { KEYS_PER_ACCOUNT } from './limits.ts';
import { newLocator } from './secrets.ts';
import type { User, Wallet } from './tables.ts';
import { createUser, findUserOrDeleted } from './users.ts';
import { isScheme, isSignedBy, type Scheme } from './wallet-signature.ts';

const CHALLENGE_MS = 5 * 60_000;

/** A signature for one purpose is never accepted for another. */
export type WalletPurpose = 'sign in' | 'link this account';

/** A refused wallet. The message is shown to the user. */
export class WalletError extends Error {}

interface Challenge {
  /** Unique per challenge. */
  readonly nonce: string;
  readonly message: string;
  readonly accountId: string;
  readonly address: string;
  readonly scheme: Scheme;
  readonly purpose: WalletPurpose;
  /** Id of the user or anonymous visitor who may use the challenge. */
  readonly holder: string;
  readonly expires_ms: number;
}

/** Binds the encryption of challenges to this use. */
const SEAL_CONTEXT = 'wallet challenge';

/**
 * Creates a message for the wallet to sign, which is valid once, for five minutes. The caller keeps the encrypted challenge
 * and sends it back with the signature, so unanswered challenges take no memory.
 */
export function challengeWallet(
  accounts: Accounts,
  request: { address: string; scheme: string; purpose: WalletPurpose; origin: string; holder: string },
): { readonly sealed: string; readonly message: string } {
  const { address, scheme, purpose, origin, holder } = request;
  const account = decodeAddress(address);
  if (account === null || account.key.length !== 66)
    throw new WalletError('The address is not a valid Polkadot address.');
  if (!isScheme(scheme))
    throw new WalletError('The key type is not supported. Use sr25519, ed25519 or ecdsa.');
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
    nonce,
    message,
    accountId: account.key,
    address,
    scheme,
    purpose,
    holder,
    expires_ms,
  };
  return { sealed: accounts.seal.encrypt(JSON.stringify(challenge), SEAL_CONTEXT), message };
}

/** An encrypted challenge and its signature. */
interface WalletAnswer {
  readonly sealed: string;
  readonly signature: string;
}

/** Returns a signed challenge, and marks it as used. Throws a `WalletError`. */
async function takeSignedChallenge(
  accounts: Accounts,
  answer: WalletAnswer & { purpose: WalletPurpose; holder: string },
): Promise<Challenge> {
  const challenge = unsealed(accounts, answer.sealed);
  const leftMs = (challenge?.expires_ms ?? 0) - accounts.clock.now();
  if (challenge === null || leftMs <= 0) throw usedUp();
  const isValid =
    challenge.purpose === answer.purpose &&
    challenge.holder === answer.holder &&
    isSignedBy(challenge.accountId, challenge.scheme, challenge.message, answer.signature);
  if (!isValid) throw new WalletError('The signature does not match the account and message.');
  const once = { ttlMs: 2 * CHALLENGE_MS, onlyIfAbsent: true };
  if (!(await accounts.keyValue.set(`wallet/${challenge.nonce}`, 'used', once))) throw usedUp();
  return challenge;
}

function unsealed({ seal }: Accounts, sealed: string): Challenge | null {
  try {
    return JSON.parse(seal.decrypt(sealed, SEAL_CONTEXT)) as Challenge;
  } catch {
    // This service has not created the text.
    return null;
  }
}

const usedUp = () => new WalletError('The message has expired or was already used. Try again.');

/** A wallet that signed a challenge, and its user; null if it is linked to none. */
export interface WalletProof {
  readonly challenge: Challenge;
  readonly user: User | null;
}

/** Checks a sign-in. Throws a `WalletError`, also for a wallet without an account if sign-up is closed. */
export async function proveWallet(
  accounts: Accounts,
  answer: WalletAnswer & { holder: string },
): Promise<WalletProof> {
  const challenge = await takeSignedChallenge(accounts, { ...answer, purpose: 'sign in' });
  const user = await userOf(accounts, challenge);
  if (user === null && accounts.settings.SIGN_UP === 'closed') {
    throw new WalletError(
      'The wallet is not linked to an account. Sign in with your password and link it first.',
    );
  }
  return { challenge, user };
}

/** Creates an account for a wallet that is linked to none. */
export function signUpByWallet(accounts: Accounts, { challenge }: WalletProof): Promise<User> {
  return accounts.locks.run(`wallet/${challenge.accountId}`, async () => {
    const existing = await userOf(accounts, challenge);
    if (existing !== null) return existing;
    const name = usernameOf(challenge);
    const username = (await findUserOrDeleted(accounts, name))
      ? `${name}-${randomBytes(4).toString('hex')}`
      : name;
    const created = await createUser(accounts, { username, email: '', password: null });
    await saveWallet(accounts, challenge, created.id, accounts.clock.now());
    return created;
  });
}

/** The user that a wallet is linked to; null if there is none. Records the use. */
async function userOf(accounts: Accounts, challenge: Challenge): Promise<User | null> {
  const wallet = await accounts.wallets.get(challenge.accountId);
  const user = wallet && wallet.user_id !== '' ? await accounts.users.get(wallet.user_id) : null;
  if (wallet === null || user === null) return null;
  if (wallet.scheme !== challenge.scheme)
    throw new WalletError('The wallet was linked with another key type.');
  if (user.locked_ms > 0) throw new WalletError('Your account is locked.');
  const used_ms = accounts.clock.now();
  await accounts.wallets.change(wallet.id, (current) =>
    current?.user_id === user.id ? { next: { ...current, used_ms }, result: null } : { result: null },
  );
  return user;
}

/** Links a wallet that signed the challenge to a user, unless their sessions have ended since the user was read. */
export async function linkWallet(
  accounts: Accounts,
  user: User,
  answer: WalletAnswer,
): Promise<Wallet['address']> {
  const challenge = await takeSignedChallenge(accounts, {
    ...answer,
    purpose: 'link this account',
    holder: user.id,
  });
  const linked = await walletsOf(accounts, user.id);
  if (linked.length >= KEYS_PER_ACCOUNT)
    throw new WalletError(`You have reached the limit of ${KEYS_PER_ACCOUNT} wallets. Unlink one first.`);
  await accounts.locks.run(`wallet/${challenge.accountId}`, async () => {
    const wallet = await accounts.wallets.get(challenge.accountId);
    if (wallet && wallet.user_id !== '' && wallet.user_id !== user.id) {
      throw new WalletError('The wallet is linked to another account. Unlink it there first.');
    }
    await saveWallet(accounts, challenge, user.id, accounts.clock.now());
    // Checked last: a new password may have unlinked all wallets before this wallet was linked.
    if ((await accounts.users.get(user.id))?.session_epoch === user.session_epoch) return;
    await endLink(accounts, user, challenge.accountId);
    throw new WalletError('You were signed out meanwhile. Sign in and try again.');
  });
  return challenge.address;
}

/** Unlinks a wallet, unless it is the only way to sign in. */
export async function unlinkWallet(accounts: Accounts, user: User, id: string): Promise<void> {
  const linked = await walletsOf(accounts, user.id);
  if (user.password_hash === '' && linked.length <= 1) {
    throw new WalletError('The wallet is your only sign-in method. Set a password first.');
  }
  await endLink(accounts, user, id);
}

/** Unlinks all wallets of a user who signs in by password. Returns their number. */
export async function unlinkWallets(accounts: Accounts, user: User): Promise<number> {
  const linked = await walletsOf(accounts, user.id);
  await Promise.all(linked.map(({ id }) => endLink(accounts, user, id)));
  return linked.length;
}

function endLink({ clock, wallets }: Accounts, user: User, id: string): Promise<null> {
  return wallets.change(id, (wallet) =>
    wallet?.user_id === user.id
      ? { next: { ...wallet, user_id: '', expires_ms: clock.now() }, result: null }
      : { result: null },
  );
}

export function walletsOf({ wallets }: Accounts, user_id: string): Promise<Wallet[]> {
  return wallets.find(sql`user_id = ${user_id}`, 'linked_ms, id');
}

function saveWallet(
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

/** The username of an account that was created for a wallet. */
const usernameOf = ({ accountId }: Challenge) => `wallet-${accountId.slice(2, 18)}`;
