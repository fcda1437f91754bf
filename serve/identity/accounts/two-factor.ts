import { randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Accounts } from './accounts.ts';
import { AccountError, changeUser } from './people.ts';
import { hashSecret, isSecretOf } from './secrets.ts';
import type { User } from './tables.ts';

/** RFC 6238 with what every authenticator app knows: six digits, 30 seconds, SHA-1. */
const STEP_SECONDS = 30;
/** A clock may be off by one step either way. */
const WINDOW = 1;
const RECOVERY_CODES = 10;
/** 32 letters and digits without those that look alike, so 50 bits a code. */
const RECOVERY_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const RECOVERY_LENGTH = 10;

const totpOf = (secret: string, username: string) =>
  new TOTP({
    issuer: 'Chain Metrics',
    label: username,
    secret: Secret.fromBase32(secret),
    period: STEP_SECONDS,
  });

/** A secret to put into an authenticator app; nothing is kept until a code proves that it is there. */
export const newTotpSecret = (): string => new Secret({ size: 20 }).base32;

/** The secret as an app reads it from a picture. */
export const totpUri = (secret: string, username: string): string => totpOf(secret, username).toString();

/** Turns two-factor authentication on and returns the recovery codes, which are shown this once. */
export async function turnOn(
  accounts: Accounts,
  { id, username }: User,
  secret: string,
  code: string,
): Promise<string[]> {
  const step = stepOf(accounts, secret, username, code);
  if (step === null)
    throw new AccountError('code', 'This code is wrong. Check that the clock of your device is right.');
  const codes = newRecoveryCodes();
  await changeUser(accounts, id, () => ({
    totp_secret: accounts.seal.encrypt(secret, `totp ${id}`),
    totp_step: step,
    recovery_hashes: codes.map(hashSecret),
  }));
  return codes;
}

export function turnOff(accounts: Accounts, id: string): Promise<User | null> {
  return changeUser(accounts, id, () => ({ totp_secret: '', totp_step: 0, recovery_hashes: [] }));
}

/** New recovery codes in place of all old ones. */
export async function renewRecoveryCodes(accounts: Accounts, id: string): Promise<string[]> {
  const codes = newRecoveryCodes();
  await changeUser(accounts, id, (user) =>
    user.totp_secret === '' ? null : { recovery_hashes: codes.map(hashSecret) },
  );
  return codes;
}

/** Whether a code of the app or a recovery code is right; either is then used up. */
export async function isSecondFactor(accounts: Accounts, { id }: User, given: string): Promise<boolean> {
  const code = given.toLowerCase().replace(/[\s-]/g, '');
  const changed = await changeUser(accounts, id, (user) => {
    if (user.totp_secret === '') return null;
    if (/^\d{6}$/.test(code)) {
      const secret = accounts.seal.decrypt(user.totp_secret, `totp ${id}`);
      const step = stepOf(accounts, secret, user.username, code);
      return step !== null && step > user.totp_step ? { totp_step: step } : null;
    }
    const left = user.recovery_hashes.filter((hash) => !isSecretOf(hash, code));
    return left.length < user.recovery_hashes.length ? { recovery_hashes: left } : null;
  });
  return changed !== null;
}

/** The time step that a code belongs to; null when it is none of the present ones. */
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
  const letter = () => RECOVERY_ALPHABET[randomInt(RECOVERY_ALPHABET.length)] as string;
  return Array.from({ length: RECOVERY_CODES }, () =>
    Array.from({ length: RECOVERY_LENGTH }, letter).join(''),
  );
}
