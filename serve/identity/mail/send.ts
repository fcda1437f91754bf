import type { FastifyInstance } from 'fastify';
import { DAY_MS } from '../../../infra/days.ts';
import { reasonOf } from '../../../infra/errors.ts';
import type { WaitingMail } from '../../accounts/account-mails.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { User } from '../../accounts/tables.ts';
import { findUser } from '../../accounts/users.ts';
import { publicUrl } from '../../http/public-url.ts';
import { linkPath } from './links.ts';
import { type LetterTopic, letterOf } from './texts.ts';

const RETRY_MS_MIN = 5000;
const GIVE_UP_MS = DAY_MS;

/** Interval of the search for mails whose jobs were lost, which is also the longest wait for the next attempt. */
const SWEEP_MS = 300_000;

/** Starts the jobs that send mails of accounts. */
export function startAccountMails(app: FastifyInstance, accounts: Accounts): void {
  const send = (mail: WaitingMail) => sendMail(app, accounts, mail);
  accounts.mails
    .process(send)
    .catch((error) => app.log.error({ err: error }, 'mails of accounts are not sent'));
  const sweep = () =>
    accounts.mails
      .resume()
      .catch((error) => app.log.warn({ err: error }, 'looking for waiting mails of accounts failed'));
  let sweeping = sweep();
  const timer = setInterval(() => {
    sweeping = sweep();
  }, SWEEP_MS).unref();
  app.addHook('onClose', async () => {
    clearInterval(timer);
    await sweeping;
  });
}

/** Returns the milliseconds until the next attempt, which double each time; undefined if the mail is done. */
async function sendMail(
  app: FastifyInstance,
  accounts: Accounts,
  mail: WaitingMail,
): Promise<number | undefined> {
  const origin = publicUrl(app, accounts.settings);
  // Errors of the store are retried like errors of the mail server.
  const { fault, isRefused } = await attempt(accounts, mail, origin).catch((error) => ({
    fault: reasonOf(error),
    isRefused: false,
  }));
  if (fault === '') return undefined;
  const { topic, requested_ms } = mail;
  const age = accounts.clock.now() - requested_ms;
  const isGivenUp = isRefused || age > GIVE_UP_MS;
  app.log.warn({ topic, reason: fault, isGivenUp }, 'a mail of an account was not sent');
  return isGivenUp ? undefined : Math.max(RETRY_MS_MIN, age);
}

interface Attempt {
  /** The error; '' if the mail was accepted, or if there is nothing to send. */
  readonly fault: string;
  readonly isRefused: boolean;
}

async function attempt(accounts: Accounts, mail: WaitingMail, origin: string): Promise<Attempt> {
  const planned = await planOf(accounts, mail);
  if (planned === null) return { fault: '', isRefused: false };
  const { address: to, message_id: id } = mail;
  const letter = letterOf(planned.topic, { ...planned, origin });
  return accounts.mailer.send({ ...letter, to, id, thread: '', isImportant: false });
}

interface PlannedLetter {
  readonly topic: LetterTopic;
  readonly username: string;
  readonly path: string;
}

/** Null if there is nothing to send, for example to an address that no account has confirmed. */
async function planOf(
  accounts: Accounts,
  { topic, address: to, user_id }: WaitingMail,
): Promise<PlannedLetter | null> {
  if (topic === 'account-deleted') return { topic, username: '', path: '' };
  const user = await (user_id === '' ? findUser(accounts, to) : accounts.users.get(user_id));
  if (user === null || user.locked_ms > 0) return null;
  const { username } = user;
  if (topic === 'reset-password')
    return isConfirmed(user) ? { topic, username, path: linkPath(accounts, topic, user, to) } : null;
  if (topic !== 'confirm-email') return { topic, username, path: '/forgotten-password' };
  const holder = await findUser(accounts, to);
  if (holder === null || !isConfirmed(holder))
    return { topic, username, path: linkPath(accounts, topic, user, to) };
  return holder.id === user.id ? null : { topic: 'email-taken', username, path: '' };
}

const isConfirmed = ({ email_confirmed_ms }: User): boolean => email_confirmed_ms > 0;
