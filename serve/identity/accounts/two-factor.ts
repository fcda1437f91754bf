import { randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Accounts } from './accounts.ts';
import { FieldError } from './field-error.ts';
import { hashSecret, isSecretOf } from './secrets.ts';
import type { User } from './tables.ts';
import { changeUser } from './users.ts';

/** RFC 6238 with the parameters that all authenticator apps support: six digits, 30 seconds, SHA-1. */
const STEP_SECONDS = 30;
/** Accepted clock difference in steps, in both directions. */
const WINDOW = 1;
const RECOVERY_CODES = 10;
/** 32 unambiguous letters and digits, so 50 bits per code. */
const RECOVERY_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const RECOVERY_LENGTH = 10;

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

/** Enables two-factor authentication and returns the recovery codes, of which only hashes are stored. */
export async function enableTwoFactor(
  accounts: Pick<Accounts, 'users' | 'clock' | 'seal'>,
  { id, username }: User,
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
  await changeUser(accounts, id, () => ({
    totp_secret: accounts.seal.encrypt(secret, `totp ${id}`),
    totp_step: step,
    recovery_hashes: codes.map(hashSecret),
  }));
  return codes;
}

export function disableTwoFactor(accounts: Pick<Accounts, 'users'>, id: string): Promise<User | null> {
  return changeUser(accounts, id, () => ({ totp_secret: '', totp_step: 0, recovery_hashes: [] }));
}

/** Replaces all recovery codes. */
export async function regenerateRecoveryCodes(
  accounts: Pick<Accounts, 'users'>,
  id: string,
): Promise<string[]> {
  const codes = newRecoveryCodes();
  await changeUser(accounts, id, (user) =>
    user.totp_secret === '' ? null : { recovery_hashes: codes.map(hashSecret) },
  );
  return codes;
}

/** Checks a code of the app or a recovery code. A correct code cannot be used again. */
export async function isSecondFactor(
  accounts: Pick<Accounts, 'users' | 'clock' | 'seal'>,
  { id }: User,
  given: string,
): Promise<boolean> {
  const code = given.toLowerCase().replace(/[\s-]/g, '');
  const changed = await changeUser(accounts, id, (user) => {
    if (user.totp_secret === '') return null;
    if (/^\d{6}$/.test(code)) {
      const secret = accounts.seal.decrypt(user.totp_secret, `totp ${id}`);
      const step = stepOf(accounts, secret, user.username, code);
      return step !== null && step > user.totp_step ? { totp_step: step } : null;
    }
    const remaining = user.recovery_hashes.filter((hash) => !isSecretOf(hash, code));
    return remaining.length < user.recovery_hashes.length ? { recovery_hashes: remaining } : null;
  });
  return changed !== null;
}

/** The time step of a code; null when it is not one of the current codes. */
function stepOf(
  { clock }: Pick<Accounts, 'clock'>,
  secret: string,
  username: string,
  code: string,
): number | null {
  const timestamp = clock.now();
  const offset = totpOf(secret, username).validate({
    token: code.replace(/\s/g, ''),
    timestamp,
    window: WINDOW,
  });
  return offset === null ? null : Math.floor(timestamp / 1000 / STEP_SECONDS) + offset;
}

function newRecoveryCodes(): string[] {
  const character = () => RECOVERY_ALPHABET[randomInt(RECOVERY_ALPHABET.length)] as string;
  return Array.from({ length: RECOVERY_CODES }, () =>
    Array.from({ length: RECOVERY_LENGTH }, character).join(''),
  );
}
