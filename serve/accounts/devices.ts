import { fastifyCookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressKey } from '../http/client-address.ts';
import type { Accounts } from './accounts.ts';
import type { Caller } from './attempts.ts';
import { isLocator, newLocator, type Seal } from './secrets.ts';
import { cookieRules, isSecure } from './sessions.ts';
import type { User } from './tables.ts';

// A browser that has signed in keeps a signed cookie. The cookie grants only a budget of its own for failed
// attempts, which nobody else can exhaust. A new password invalidates it.

/** Maximum of users in the cookie of a browser. */
const USERS_MAX = 4;
const COOKIE_SECONDS = 365 * 86_400;

interface Device {
  readonly id: string;
  readonly user_id: string;
  readonly epoch: string;
}

/** The caller of a request, and whether this browser has signed in to the account before. */
export async function callerOf(accounts: Accounts, request: FastifyRequest, login: string): Promise<Caller> {
  const wanted = login.trim().toLowerCase();
  for (const device of devicesOf(accounts, request)) {
    const user = await accounts.users.get(device.user_id);
    const isOfUser = user !== null && (user.username === wanted || user.email === wanted);
    if (isOfUser && device.epoch === String(user.session_epoch)) {
      return { address: addressKey(request), device: device.id };
    }
  }
  return { address: addressKey(request), device: null };
}

/** Remembers the browser and the address of a user who has passed all factors. */
export async function rememberCaller(accounts: Accounts, reply: FastifyReply, user: User): Promise<void> {
  const { request } = reply;
  await accounts.attempts.remember(user, addressKey(request));
  const before = devicesOf(accounts, request);
  const id = before.find(({ user_id }) => user_id === user.id)?.id ?? newLocator();
  const epoch = String(user.session_epoch);
  const devices = [{ id, user_id: user.id, epoch }, ...before.filter(({ user_id }) => user_id !== user.id)];
  reply.setCookie(
    cookieName(accounts),
    devices
      .slice(0, USERS_MAX)
      .map((device) => `${textOf(device)}.${accounts.seal.sign('device', textOf(device))}`)
      .join('~'),
    { ...cookieRules(accounts), maxAge: COOKIE_SECONDS },
  );
}

function devicesOf(accounts: Accounts, { headers }: FastifyRequest): Device[] {
  const cookie = headers.cookie === undefined ? {} : fastifyCookie.parse(headers.cookie);
  const entries = (cookie[cookieName(accounts)] ?? '').split('~', USERS_MAX);
  return entries.flatMap((entry) => readDevice(accounts.seal, entry) ?? []);
}

function readDevice(seal: Seal, entry: string): Device | null {
  const [id = '', user_id = '', epoch = '', signature = ''] = entry.split('.');
  const device = { id, user_id, epoch };
  return isLocator(id) && seal.isSigned('device', textOf(device), signature) ? device : null;
}

const textOf = ({ id, user_id, epoch }: Device): string => `${id}.${user_id}.${epoch}`;

const cookieName = (accounts: Accounts) => (isSecure(accounts) ? '__Host-device' : 'device');
