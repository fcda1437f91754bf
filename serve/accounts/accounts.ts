import type { z } from 'zod';
import { Locks } from '../../infra/coordination/lock.ts';
import { DAY_MS } from '../../infra/days.ts';
import type { Clock, KeyValue, Queue, Store } from '../../infra/ports.ts';
import { type Limiters, openLimiters } from '../http/limiter.ts';
import type { HttpSettings } from '../http/settings.ts';
import { Mailer } from '../mail/mailer.ts';
import type { MailSettings } from '../mail/settings.ts';
import { type RecordContext, Records } from '../stored-records/records.ts';
import { AccountMails, type WaitingMail } from './account-mails.ts';
import { AttemptLimits } from './attempts.ts';
import { CredentialFailures } from './credential-failures.ts';
import { createIdentityMetrics, type IdentityMetrics } from './identity-metrics.ts';
import type { PersonalData } from './personal-data.ts';
import { Seal } from './secrets.ts';
import type { identityBounds, identitySettings } from './settings.ts';
import {
  type Application,
  applications,
  type Grant,
  grants,
  type Session,
  type SigningKey,
  sessions,
  signingKeys,
  type Wallet,
  waitingMails,
  wallets,
} from './tables.ts';
import { UserRecords } from './user-records.ts';
import { Uses } from './uses.ts';

/** The settings that identity uses: its own, those of mail, the data directory and the listen address. */
type IdentitySettings = Readonly<
  z.output<z.ZodObject<typeof identitySettings>> &
    typeof identityBounds &
    MailSettings &
    Pick<HttpSettings, 'HOST' | 'PORT' | 'LIMITS_WITHOUT_REDIS'> & { DATA_DIR: string }
>;

/** The state of the identity domain: its records, its key and its settings. */
export interface Accounts extends RecordContext {
  readonly settings: IdentitySettings;
  readonly seal: Seal;
  readonly limiters: Limiters;
  readonly attempts: AttemptLimits;
  readonly failures: CredentialFailures;
  readonly mailer: Mailer;
  readonly mails: AccountMails;
  readonly users: UserRecords;
  readonly sessions: Records<Session>;
  readonly wallets: Records<Wallet>;
  readonly applications: Records<Application>;
  readonly grants: Records<Grant>;
  readonly signingKeys: Records<SigningKey>;
  readonly waitingMails: Records<WaitingMail>;
  /** When keys and tokens were last used. */
  readonly uses: Uses;
  readonly metrics: IdentityMetrics;
  /** The personal data that other domains store. */
  readonly personalData: () => Promise<readonly PersonalData[]>;
}

/** A request fails if another process holds the lock of a record for longer than `waitMsMax`. */
const RECORD_LOCKS = { ttlMs: 30_000, waitMsMax: 20_000 };

/**
 * Opens the identity domain; the schema must have been applied. A process calls it once: caches are invalidated by
 * the changes of this one instance.
 */
export function openAccounts({
  store,
  keyValue,
  queue,
  clock,
  settings,
  metrics = createIdentityMetrics(),
  openPersonalData = async () => [],
}: {
  store: Store;
  keyValue: KeyValue;
  queue: Pick<Queue, 'add' | 'process'>;
  clock: Clock;
  settings: IdentitySettings;
  metrics?: IdentityMetrics;
  openPersonalData?: (accounts: Accounts) => Promise<readonly PersonalData[]>;
}): Accounts {
  const context: RecordContext = { store, keyValue, clock, locks: new Locks(keyValue, RECORD_LOCKS) };
  const seal = Seal.open(settings);
  const limiters = openLimiters({ keyValue, clock }, settings);
  const mailer = new Mailer(settings);
  const waiting = new Records<WaitingMail>(context, waitingMails);
  const accounts: Accounts = {
    ...context,
    settings,
    seal,
    metrics,
    limiters,
    attempts: new AttemptLimits({ ...context, limiters, seal, metrics }, settings),
    failures: new CredentialFailures({ limiters, perMinute: settings.FAILED_KEYS_PER_MINUTE }),
    mailer,
    mails: new AccountMails({ waitingMails: waiting, queue, clock, limiters, mailer }),
    users: new UserRecords(context),
    sessions: new Records(context, sessions),
    wallets: new Records(context, wallets),
    applications: new Records(context, applications),
    grants: new Records(context, grants),
    signingKeys: new Records(context, signingKeys),
    waitingMails: waiting,
    uses: new Uses(store, clock),
    personalData: () => openPersonalData(accounts),
  };
  return accounts;
}

/** Ended rows are kept this long, so that a used token can be distinguished from an invented token. */
export const ENDED_ROW_TTL_MS = 30 * DAY_MS;
