import { Secret, TOTP } from 'otpauth';
import type { Accounts } from './accounts.ts';
import { FieldError } from './field-error.ts';
import { hashPassword, isPasswordOf } from './passwords.ts';
import { readableCode } from './secrets.ts';
import type { User } from './tables.ts';
import { changeUser } from './users.ts';

/** RFC 6238 with the parameters that all authenticator apps support: six digits, 30 seconds, SHA-1. */
const STEP_SECONDS = 30;
/** Accepted clock difference in steps, in both directions. */
const WINDOW = 1;
const RECOVERY_CODES = 10;
const RECOVERY_LENGTH = 20;
/** The start of a code is stored in clear: it finds the hash to check, so a check computes one slow hash. 80 bits stay secret. */
const RECOVERY_LOCATOR_LENGTH = 4;

const totpOf = (secret: string, username: string) =>
  new TOTP({
    issuer: 'Chain Metrics',
    label: username,
    secret: Secret.fromBase32(secret),
    period: STEP_SECONDS,
  });

/** A secret for an authenticator app. It is stored only after a code has confirmed it. */
export const newTotpSecret = (): string => new Secret({ size: 20 }).base32;

/** The secret as the URI of a QR code. */
export const totpUri = (secret: string, username: string): string => totpOf(secret, username).toString();

/**
 * Enables two-factor authentication and returns the recovery codes, of which only hashes are stored. Throws a
 * `FieldError`, also if the sessions of the user have ended since the user was read.
 */
export async function enableTwoFactor(
  accounts: Accounts,
  { id, username, session_epoch }: User,
  secret: string,
  code: string,
): Promise<string[]> {
  const step = stepOf(accounts, secret, username, code);
  if (step === null)
    throw new FieldError(
      'code',
      'The verification code is incorrect. Check that the clock of your device is correct.',
    );
  const codes = newRecoveryCodes();
  const recovery_hashes = await hashRecoveryCodes(codes);
  const changed = await changeUser(accounts, id, (current) =>
    current.session_epoch === session_epoch
      ? { totp_secret: accounts.seal.encrypt(secret, `totp ${id}`), totp_step: step, recovery_hashes }
      : null,
  );
  if (changed === null) throw signedOut();
  return codes;
}

export async function disableTwoFactor(accounts: Accounts, id: string): Promise<void> {
  const changed = await changeUser(accounts, id, ({ totp_secret }) =>
    totp_secret === '' ? null : { totp_secret: '', totp_step: 0, recovery_hashes: [] },
  );
  if (changed !== null) await accounts.mails.notify(changed, 'two-factor-disabled');
}

/** Replaces all recovery codes. Throws a `FieldError` if the sessions of the user have ended since the user was read. */
export async function regenerateRecoveryCodes(
  accounts: Accounts,
  { id, session_epoch }: User,
): Promise<string[]> {
  const codes = newRecoveryCodes();
  const recovery_hashes = await hashRecoveryCodes(codes);
  const changed = await changeUser(accounts, id, (current) =>
    current.totp_secret !== '' && current.session_epoch === session_epoch ? { recovery_hashes } : null,
  );
  if (changed === null) throw signedOut();
  return codes;
}

/** Hashing the codes takes about a second; a new password may end the session meanwhile. */
const signedOut = () => new FieldError('session', 'You were signed out meanwhile. Sign in and try again.');

/** Checks a code of the app or a recovery code. A correct code cannot be used again. */
export async function isSecondFactor(accounts: Accounts, { id }: User, given: string): Promise<boolean> {
  const code = given.toLowerCase().replace(/[\s-]/g, '');
  if (!/^\d{6}$/.test(code)) return takeRecoveryCode(accounts, id, code);
  const changed = await changeUser(accounts, id, (user) => {
    if (user.totp_secret === '') return null;
    const secret = accounts.seal.decrypt(user.totp_secret, `totp ${id}`);
    const step = stepOf(accounts, secret, user.username, code);
    return step !== null && step > user.totp_step ? { totp_step: step } : null;
  });
  return changed !== null;
}

/** Hashes outside the lock of the account, because a hash is slow. */
async function takeRecoveryCode(accounts: Accounts, id: string, code: string): Promise<boolean> {
  const used = await storedHashOf((await accounts.users.get(id))?.recovery_hashes ?? [], code);
  if (used === null) return false;
  const changed = await changeUser(accounts, id, ({ recovery_hashes }) =>
    recovery_hashes.includes(used)
      ? { recovery_hashes: recovery_hashes.filter((hash) => hash !== used) }
      : null,
  );
  return changed !== null;
}

/** The stored hash of a code; null if no hash matches. Takes the same time for every code of the right length. */
async function storedHashOf(hashes: readonly string[], code: string): Promise<string | null> {
  if (code.length !== RECOVERY_LENGTH) return null;
  const [locator, secret] = partsOf(code);
  const stored = hashes.find((hash) => hash.startsWith(`${locator}$`)) ?? '';
  return (await isPasswordOf(stored.slice(RECOVERY_LOCATOR_LENGTH), secret)) ? stored : null;
}

/** Hashes the codes one after the other, so that the passwords of other users do not wait. */
async function hashRecoveryCodes(codes: readonly string[]): Promise<string[]> {
  const hashes: string[] = [];
  for (const code of codes) {
    const [locator, secret] = partsOf(code);
    hashes.push(`${locator}${await hashPassword(secret)}`);
  }
  return hashes;
}

const partsOf = (code: string) =>
  [code.slice(0, RECOVERY_LOCATOR_LENGTH), code.slice(RECOVERY_LOCATOR_LENGTH)] as const;

/** The time step of a code; null if it is no current code. */
function stepOf({ clock }: Accounts, secret: string, username: string, code: string): number | null {
  const timestamp = clock.now();
  const offset = totpOf(secret, username).validate({
    token: code.replace(/\s/g, ''),
    timestamp,
    window: WINDOW,
  });
  return offset === null ? null : Math.floor(timestamp / 1000 / STEP_SECONDS) + offset;
}

function newRecoveryCodes(): string[] {
  const byLocator = new Map<string, string>();
  while (byLocator.size < RECOVERY_CODES) {
    const code = readableCode(RECOVERY_LENGTH);
    byLocator.set(partsOf(code)[0], code);
  }
  return [...byLocator.values()];
}
