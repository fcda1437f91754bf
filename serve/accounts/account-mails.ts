import { withTimeout } from '../../infra/coordination/with-timeout.ts';
import { DAY_MS } from '../../infra/days.ts';
import { ignore } from '../../infra/ignore.ts';
import type { Clock, Queue } from '../../infra/ports.ts';
import { type Sql, sql } from '../../infra/sql.ts';
import { HttpError, RETRY_SOON } from '../http/errors.ts';
import type { Limiter, Limiters } from '../http/limiter.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { Records } from '../stored-records/records.ts';
import type { RowOf } from '../stored-records/stored-table.ts';
import { AttemptRefused, type Caller } from './attempts.ts';
import { hashSecret, newLocator } from './secrets.ts';
import type { User, waitingMails } from './tables.ts';

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

export type WaitingMail = RowOf<typeof waitingMails> & { readonly topic: MailTopic };

const QUEUE = 'account-mails';
/** A slow mail server takes up to ten seconds for one mail. */
const CONCURRENCY = 4;
/** Longest wait for an unavailable store or queue. */
const ANSWER_MS_MAX = 5000;
/** Limits of mails with a link: by caller, and by address for each topic. */
const MAILS_PER_HOUR = { caller: 20, address: 5 };

/**
 * Mails to users. Each waits in a row of the store until it is sent or given up, even if no account has the address. A job of
 * the queue names the row; `resume` adds lost jobs again.
 */
export class AccountMails {
  readonly #waiting: Records<WaitingMail>;
  readonly #queue: Pick<Queue, 'add' | 'process'>;
  readonly #clock: Clock;
  readonly #mailer: Mailer;
  readonly #byCaller: Limiter;
  readonly #byAddress: Limiter;

  constructor(deps: {
    readonly waitingMails: Records<WaitingMail>;
    readonly queue: Pick<Queue, 'add' | 'process'>;
    readonly clock: Clock;
    readonly limiters: Limiters;
    readonly mailer: Mailer;
  }) {
    const { waitingMails, queue, clock, limiters, mailer } = deps;
    this.#waiting = waitingMails;
    this.#queue = queue;
    this.#clock = clock;
    this.#mailer = mailer;
    this.#byCaller = limiters({ name: 'mails/caller', max: MAILS_PER_HOUR.caller, seconds: 3600 });
    this.#byAddress = limiters({ name: 'mails/address', max: MAILS_PER_HOUR.address, seconds: 3600 });
  }

  /**
   * Requests a link for a forgotten password. A browser that has signed in to the account before has a budget of its
   * own, which the requests of others do not use up.
   */
  requestReset(to: string, { address, device }: Caller): Promise<void> {
    const budgets: Budget[] =
      device === null
        ? this.#budgetsOf('reset-password', to, `address ${address}`)
        : [{ limiter: this.#byAddress, key: `device ${device}` }];
    return this.#request(budgets, 'reset-password', to, '');
  }

  /** Requests a link that makes `to` the confirmed address of a user. */
  requestConfirmation({ id }: User, to: string): Promise<void> {
    return this.#request(this.#budgetsOf('confirm-email', to, `user ${id}`), 'confirm-email', to, id);
  }

  /** Notifies a user of a change. An unconfirmed address may belong to somebody else, so it gets no notice. */
  async notify({ id, email, email_confirmed_ms }: User, topic: Notice): Promise<void> {
    if (email_confirmed_ms === 0 || !this.#mailer.isConfigured) return;
    // The change is stored already, so an unavailable store must not make the request fail.
    await this.#add(topic, email, id).catch(ignore('mails.notify'));
  }

  /** Sends waiting mails. `send` returns the milliseconds until the next attempt; undefined if the mail is done. */
  process(send: (mail: WaitingMail) => Promise<number | undefined>): Promise<void> {
    return this.#queue.process<Job>(QUEUE, CONCURRENCY, async ({ id }) => {
      const mail = await this.#waiting.get(id);
      if (mail === null || mail.expires_ms > 0) return undefined;
      const againMs = await send(mail);
      if (againMs === undefined) await this.#end(mail);
      return againMs;
    });
  }

  /** Adds the jobs of all waiting mails, which a killed process or an unavailable queue may have lost. */
  async resume(): Promise<void> {
    for (const { id } of await this.#waiting.find(sql`expires_ms = 0`, 'requested_ms')) await this.#wake(id);
  }

  #budgetsOf(topic: LinkMail, to: string, caller: string): Budget[] {
    return [
      { limiter: this.#byCaller, key: caller },
      { limiter: this.#byAddress, key: hashSecret(`${topic} ${to}`) },
    ];
  }

  async #request(budgets: readonly Budget[], topic: LinkMail, to: string, user_id: string): Promise<void> {
    for (const { limiter, key } of budgets) {
      const { isExceeded, reset } = await limiter.count(key);
      if (isExceeded) throw AttemptRefused.usedUp(reset);
    }
    try {
      await this.#add(topic, to, user_id);
    } catch (error) {
      ignore('mails.request')(error);
      const givenBack = budgets.map(({ limiter, key }) => limiter.count(key, -1));
      await Promise.all(givenBack).catch(ignore('mails.budget'));
      throw new HttpError('unavailable', 'The mail cannot be sent now. Try again in a moment.', RETRY_SOON);
    }
  }

  async #add(topic: MailTopic, address: string, user_id: string): Promise<void> {
    const requested_ms = this.#clock.now();
    // All requests of a day share a mail while it waits. An expired row is deleted a day later, if no request has its id.
    const id = hashSecret(`${topic}/${user_id}/${address}/${Math.floor(requested_ms / DAY_MS)}`);
    const message_id = `account.${newLocator()}`;
    const next = { id, topic, address, user_id, message_id, requested_ms, expires_ms: 0 };
    await withTimeout(
      ANSWER_MS_MAX,
      this.#waiting.change(id, () => ({ next, result: undefined })),
    );
    this.#wake(id).catch(ignore('mails.wake'));
  }

  #wake(id: string): Promise<void> {
    return withTimeout(ANSWER_MS_MAX, this.#queue.add<Job>(QUEUE, { id, data: { id } }));
  }

  /** Expires a mail, unless it was requested again meanwhile. */
  #end({ id, version }: WaitingMail): Promise<void> {
    return this.#waiting.change(id, (row) =>
      row?.version === version
        ? { next: { ...row, expires_ms: this.#clock.now() }, result: undefined }
        : { result: undefined },
    );
  }
}

/** A job of the queue; `id` is the id of the row. */
interface Job {
  readonly id: string;
}

interface Budget {
  readonly limiter: Limiter;
  readonly key: string;
}

/** The mails of a user, including those for a forgotten password if the address is confirmed. */
export const mailsOf = ({ id, email, email_confirmed_ms }: User): Sql =>
  email_confirmed_ms > 0
    ? sql`(user_id = ${id} OR (user_id = '' AND address = ${email}))`
    : sql`user_id = ${id}`;
