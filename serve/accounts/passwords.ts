import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { Mutex } from '../../infra/coordination/lock.ts';

export const PASSWORD_CHARACTERS_MIN = 10;
const PASSWORD_CHARACTERS_MAX = 256;

/** Argon2id with 19 MiB, two passes, one lane: about 30 ms of a core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;

/** At most two run at a time: each needs 19 MiB and a thread that the store uses as well. */
const lanes = [new Mutex(), new Mutex()] as const;
let next = 0;

function derive(password: string, nonce: Buffer, cost: typeof COST | StoredCost): Promise<Buffer> {
  const lane = lanes[next++ % lanes.length] as Mutex;
  return lane.run(
    () =>
      new Promise((done, failed) => {
        // Keyboards compose the same characters from different code points.
        const message = Buffer.from(password.normalize('NFKC'));
        argon2('argon2id', { message, nonce, ...cost }, (error, key) => (error ? failed(error) : done(key)));
      }),
  );
}

interface StoredCost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly tagLength: number;
}

/** The hash in PHC format, which includes the cost, so that the cost can be raised later. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const key = await derive(password, nonce, COST);
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${base64(nonce)}$${base64(key)}`;
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
let dummyHash: Promise<string> | undefined;

/** Takes the same time for a wrong password, an account without a password and an unknown account. */
export async function isPasswordOf(stored: string, password: string): Promise<boolean> {
  if (password.length > PASSWORD_CHARACTERS_MAX) return false;
  dummyHash ??= hashPassword(randomBytes(16).toString('hex'));
  const parts = PHC.exec(stored) ?? PHC.exec(await dummyHash);
  const [, memory, passes, parallelism, nonce = '', key = ''] = parts as RegExpExecArray;
  const expected = Buffer.from(key, 'base64');
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  };
  const given = await derive(password, Buffer.from(nonce, 'base64'), cost);
  return timingSafeEqual(given, expected) && PHC.test(stored);
}

/** Why a new password is refused; null if it is accepted. */
export function passwordFault(password: string, username: string): string | null {
  if ([...password].length < PASSWORD_CHARACTERS_MIN)
    return `Use at least ${PASSWORD_CHARACTERS_MIN} characters; several words make a good password.`;
  if (password.length > PASSWORD_CHARACTERS_MAX) return `Use at most ${PASSWORD_CHARACTERS_MAX} characters.`;
  if (password.toLowerCase().includes(username.toLowerCase()))
    return 'The password must not contain your username.';
  if (new Set(password).size < 5) return 'Use at least 5 different characters.';
  return null;
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
