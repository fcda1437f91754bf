import { inTime } from '../../infra/coordination/in-time.ts';
import { ignore } from '../../infra/ignore.ts';
import type { Clock, Queue } from '../../infra/ports.ts';
import type { Limiter, Limiters } from '../http/limiter.ts';
import type { Mailer } from '../mail/mailer.ts';
import { AttemptRefused } from './attempts.ts';
import { hashSecret, newLocator } from './secrets.ts';
import type { User } from './tables.ts';

/** Mails with a link. */
type LinkMail = 'reset-password' | 'confirm-email';
/** Mails about a change of an account, to its confirmed address. */
type Notice =
  | 'password-changed'
  | 'two-factor-disabled'
  | 'email-change-requested'
  | 'email-changed'
  | 'account-deleted';
export type MailTopic = LinkMail | Notice;

/** A mail that waits to be sent. It holds no secret: a link is made when the mail is sent. */
export interface WaitingMail {
  readonly topic: MailTopic;
  readonly to: string;
  /** '' for a forgotten password: only the job looks the address up, so the request does the same work for all. */
  readonly user_id: string;
  /** Left part of the Message-ID, the same for every attempt. */
  readonly key: string;
  readonly requested_ms: number;
}

const QUEUE = 'account-mails';
/** A slow mail server takes up to ten seconds for one mail. */
const CONCURRENCY = 4;
/** A request does not wait longer for a queue that is away. */
const ADD_MS_MAX = 5000;
/** Limits of mails with a link: by caller, and by address for each topic. */
const MAILS_PER_HOUR = { caller: 20, address: 5 };

/** Mails to the people of accounts, sent by jobs of the queue. */
export class AccountMails {
  readonly #queue: Pick<Queue, 'add' | 'process'>;
  readonly #clock: Clock;
  readonly #mailer: Mailer;
  readonly #byCaller: Limiter;
  readonly #byAddress: Limiter;

  constructor(deps: {
    readonly queue: Pick<Queue, 'add' | 'process'>;
    readonly clock: Clock;
    readonly limiters: Limiters;
    readonly mailer: Mailer;
  }) {
    const { queue, clock, limiters, mailer } = deps;
    this.#queue = queue;
    this.#clock = clock;
    this.#mailer = mailer;
    this.#byCaller = limiters({ name: 'mails/caller', max: MAILS_PER_HOUR.caller, seconds: 3600 });
    this.#byAddress = limiters({ name: 'mails/address', max: MAILS_PER_HOUR.address, seconds: 3600 });
  }

  /** Requests a link for a forgotten password. `caller` is the network address as limits count it. */
  async requestReset(to: string, caller: string): Promise<void> {
    await this.#count('reset-password', to, `address ${caller}`);
    await this.#add('reset-password', to, '');
  }

  /** Requests a link that makes `to` the confirmed address of a user. */
  async requestConfirmation({ id }: User, to: string): Promise<void> {
    await this.#count('confirm-email', to, `user ${id}`);
    await this.#add('confirm-email', to, id);
  }

  /** Tells a user of a change. An address that is not confirmed may be of somebody else, so it gets no notice. */
  async notify({ id, email, email_confirmed_ms }: User, topic: Notice): Promise<void> {
    if (email_confirmed_ms === 0 || !this.#mailer.isConfigured) return;
    // The change is done: a queue that is away must not make it look as if it had failed.
    await this.#add(topic, email, id).catch(ignore('mails.notify'));
  }

  /** Sends waiting mails. A mail runs again after the milliseconds that `send` returns. */
  process(send: (mail: WaitingMail) => Promise<number | undefined>): Promise<void> {
    return this.#queue.process<WaitingMail>(QUEUE, CONCURRENCY, send);
  }

  async #count(topic: LinkMail, to: string, caller: string): Promise<void> {
    for (const [limiter, key] of [
      [this.#byCaller, caller],
      [this.#byAddress, hashSecret(`${topic} ${to}`)],
    ] as const) {
      const { isExceeded, reset } = await limiter.count(key);
      if (isExceeded) throw AttemptRefused.usedUp(reset);
    }
  }

  #add(topic: MailTopic, to: string, user_id: string): Promise<void> {
    const data: WaitingMail = {
      ...{ topic, to, user_id },
      key: `account.${newLocator()}`,
      requested_ms: this.#clock.now(),
    };
    return inTime(ADD_MS_MAX, this.#queue.add(QUEUE, { id: `${topic}/${user_id}/${to}`, data }));
  }
}
